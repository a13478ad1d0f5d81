from tasks.reports.changes import follow_site
from tasks.reports.record import PageRecord, RecordedHeadline


def make_page(title, warnings=(), **figures):
    shown = tuple(RecordedHeadline(label, value, "") for label, value in figures.items())
    return PageRecord("dataset", "trial", "one", title, "", "", tuple(warnings), shown, (), ())


def test_changes_are_told_since_the_site_was_last_another_one(tmp_path):
    path = tmp_path / "site.json"
    first = {"a": make_page("A", ["Beware."], rows=3, drops=1), "b": make_page("B")}
    second = {"a": make_page("A", ["Mind."], rows=4), "c": make_page("C")}

    assert follow_site(path, first, "monday").since == ""
    assert follow_site(path, first, "tuesday").since == ""
    told = follow_site(path, second, "wednesday")
    again = follow_site(path, second, "thursday")

    assert told == again
    assert told.since == "monday"
    assert [(change.title, change.what, change.before, change.after) for change in told.changes] == [
        ("A", "rows", 3, 4),
        ("A", "drops", 1, None),
        ("A", "warns: Mind.", None, None),
        ("A", "warns no more: Beware.", None, None),
        ("C", "is new", None, None),
        ("B", "is gone", None, None),
    ]
    assert told.changes[-1].link == ""


def test_a_history_that_cannot_be_read_counts_as_none(tmp_path):
    path = tmp_path / "site.json"
    path.write_text("{", encoding="utf-8")
    assert follow_site(path, {"a": make_page("A")}, "monday").since == ""
    assert follow_site(path, {}, "tuesday").since == "monday"
