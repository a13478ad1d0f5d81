from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from tasks.errors import BadInput
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.embed import encode_json
from tasks.reports.page import ASSESSMENTS, DATASETS, Headline, Page, Section
from tasks.reports.record import RECORD, PageRecord, RecordedHeadline, read_record, write_record
from tasks.reports.site import follow_site, write_index

STREAMS = Section("stream", "Streams", 3)


def make_report(folder, title, section=DATASETS, **head):
    """Write the folder of a page, with the files that the front page reads."""
    folder.mkdir(parents=True)
    page = Page(section, "grammar", folder.name, title, subtitle="", **head)
    write_record(folder / RECORD, page, {})
    return folder


def test_reports_are_linked_relatively_and_in_order(tmp_path):
    folders = [
        make_report(tmp_path / "grammar" / name, title) for name, title in (("b", "Zoo"), ("a b", "<Ants>"))
    ]

    write_index(folders, tmp_path / "index.html")

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.index("grammar/a%20b/index.html") < page.index("grammar/b/index.html")
    assert "&lt;Ants&gt;" in page
    assert "<Ants>" not in page
    assert str(tmp_path) not in page


def test_assessments_come_after_datasets_with_their_figures_and_warnings(tmp_path):
    head = {"finding": "module at fault: retrieval", "warnings": ["The judge got 1 of 2 canaries right."]}
    headlines = [Headline("module", "retrieval"), Headline("accuracy", 0.1, "0.033 to 0.200")]
    folders = [
        make_report(tmp_path / "grammar" / "a", "Ants", ASSESSMENTS, headlines=headlines, **head),
        make_report(tmp_path / "grammar" / "b", "Zoo"),
    ]

    write_index(folders, tmp_path / "index.html")

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    shown = ["1 of 2", "Datasets", "Zoo", "Assessments", "Ants", "fault: retrieval", "0.100", "0.033 to"]
    places = [page.rindex(text) for text in shown]
    assert places == sorted(places)
    assert page.count("1 of 2") == 1


def test_a_new_kind_of_page_is_on_the_front_page_by_its_record_alone(tmp_path):
    folders = [
        make_report(tmp_path / "streams" / "a", "Rivers", STREAMS),
        make_report(
            tmp_path / "streams" / "c", "Lakes", replace(STREAMS, part="pool", title="Pools", order=0)
        ),
        make_report(tmp_path / "grammar" / "b", "Zoo"),
    ]

    write_index(folders, tmp_path / "index.html")

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    places = [page.index(f">{text}<") for text in ("Pools", "Lakes", "Datasets", "Zoo", "Streams", "Rivers")]
    assert places == sorted(places)


def test_a_page_that_no_section_takes_is_named(tmp_path):
    folder = make_report(tmp_path / "rivers", "Rivers", STREAMS)
    record = json.loads((folder / RECORD).read_text())
    del record["section"]
    (folder / RECORD).write_text(json.dumps(record))

    with pytest.raises(
        BadInput, match=r"rivers.report\.json: .*the part 'stream' is not one of dataset, assess"
    ):
        write_index([folder], tmp_path / "index.html")


@pytest.mark.parametrize("other", [replace(STREAMS, title="Rivers"), replace(DATASETS, order=7)])
def test_pages_that_place_one_part_differently_are_named(tmp_path, other):
    folders = [make_report(tmp_path / "a", "A", STREAMS), make_report(tmp_path / "b", "B", other)]

    with pytest.raises(BadInput, match=r"b.report\.json: puts the part"):
        write_index(folders, tmp_path / "index.html")


def test_a_folder_without_a_report_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"films.report\.json"):
        write_index([tmp_path / "films"], tmp_path / "index.html")


def test_a_record_of_an_older_kind_is_named(tmp_path):
    folder = make_report(tmp_path / "films", "Films")
    (folder / RECORD).write_text('{"flow": "grammar", "title": "Films"}', encoding="utf-8")
    with pytest.raises(BadInput, match=r"films.report\.json: is a report record in an older format"):
        write_index([folder], tmp_path / "index.html")


def test_a_record_holds_the_head_its_numbers_with_their_rows_and_further_figures(tmp_path):
    @dataclass(frozen=True)
    class Fault:
        module: str

    rows = Derivation("mean", (Selection("answers"),), "score")
    headlines = [
        Headline("module", "retrieval"),
        Headline("unknown", None),
        Headline("rate", 0.12345, "of all", rows),
        Headline("answers", 7),
    ]
    page = Page(
        ASSESSMENTS, "grammar", "films", "Films", "How it answers", headlines, ["Beware."], "retrieval"
    )

    write_record(tmp_path / RECORD, page, {"fault": Fault("retrieval")})

    record = json.loads((tmp_path / RECORD).read_text())
    assert record["fault"] == {"module": "retrieval"}
    assert record["figures"] == [
        {"label": "rate", "note": "of all", "value": 0.12345, "basis": rows.to_json()},
        {"label": "answers", "value": 7, "note": ""},
    ]
    read = read_record(tmp_path / RECORD)
    assert (read.part, read.section, read.finding, read.warnings) == (
        "assessment",
        None,
        "retrieval",
        ("Beware.",),
    )
    assert [(figure.label, figure.value) for figure in read.figures] == [("rate", 0.12345), ("answers", 7)]


def test_a_record_without_a_value_for_nan_is_refused(tmp_path):
    page = Page(DATASETS, "grammar", "films", "Films", "", [Headline("rate", float("nan"))])
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_record(tmp_path / RECORD, page, {})


def test_embedded_json_closes_no_tag_and_reads_back():
    hostile = {"a": "</script><!-- & \u2028 \u2029"}

    text = encode_json(hostile)

    assert not set(text) & {"<", ">", "&", "\u2028", "\u2029"}
    assert json.loads(text) == hostile


def test_dataclasses_are_embedded_by_their_fields_and_other_objects_refused():
    assert json.loads(encode_json([Headline("answers", 7)])) == [
        {"label": "answers", "value": 7, "note": "", "derivation": None, "interval": None, "symbol": ""}
    ]
    with pytest.raises(TypeError, match="Path"):
        encode_json({"path": type("Path", (), {})()})


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
        ("A", "new warning: Mind.", None, None),
        ("A", "warning removed: Beware.", None, None),
        ("C", "new page", None, None),
        ("B", "page removed", None, None),
    ]
    assert told.changes[-1].link == ""


def test_a_history_that_cannot_be_read_counts_as_none(tmp_path):
    path = tmp_path / "site.json"
    path.write_text("{", encoding="utf-8")
    assert follow_site(path, {"a": make_page("A")}, "monday").since == ""
    assert follow_site(path, {}, "tuesday").since == "monday"
