"""Tests of the front page's headline and charts: the chosen result, and statements on other systems."""

from __future__ import annotations

import json

import pytest

from tasks.reports.page import (
    ASSESSMENTS,
    DATASETS,
    Headline,
    Page,
    SampleQuestion,
    SystemFigure,
    choose_samples,
    order_naturally,
)
from tasks.reports.record import RECORD, write_record
from tasks.reports.site import write_index

OPENED = [f"I am {who} and I want to be sure. What is the {n}. row?" for n in range(9) for who in ("a", "b")]


def write_assessment(root, name, values, dataset="Films", measure="accuracy", top=1, **head):
    """Write a page with systems. values: system -> value; the second measure is higher for all systems."""
    folder = root / "trial" / name
    folder.mkdir(parents=True)
    systems = [
        SystemFigure(
            system, dataset, words, words, value + more, (value / 2, value), 48, "rows, 9 sets", 0, None,
            top=top,
        )
        for words, more in ((measure, 0), ("another measure", 0.3))
        for system, value in values.items()
    ]  # fmt: skip
    write_record(folder / RECORD, Page(ASSESSMENTS, "trial", name, name, "", systems=systems, **head), {})
    return folder


def write_dataset(root, name, questions):
    folder = root / "trial" / name
    folder.mkdir(parents=True)
    headlines = [Headline("drops", 3), Headline("questions", questions)]
    write_record(folder / RECORD, Page(DATASETS, "trial", name, name, "", headlines, counts="questions"), {})
    return folder


def read_front(root, folders, **more):
    write_index(folders, root / "index.html", **more)
    text = (root / "index.html").read_text()
    head = text[text.index("<header") : text.index("</header>")]
    return text, " ".join(head.replace("</em>", "").replace("<em>", "").split())


def test_the_headline_counts_questions_and_tells_the_result_of_most_assessments(tmp_path):
    folders = [
        write_dataset(tmp_path, "films", 1200),
        write_dataset(tmp_path, "boats", 34),
        write_assessment(tmp_path, "one", {"weak": 0.2}),
        write_assessment(tmp_path, "two", {"good": 0.3125}),
        write_assessment(tmp_path, "three", {"alone": 0.1}, warnings=["The judge errs. Read it."]),
        write_assessment(tmp_path, "other", {f"s{n}": 0.9 for n in range(5)}, dataset="Boats"),
    ]
    asked = []

    def find_beaten(flow, entry, others):
        asked.append((flow, entry, sorted(others)))
        return {"three": True, "one": False}

    text, head = read_front(tmp_path, folders, find_beaten=find_beaten)
    assert asked == [("trial", "two", ["one", "three"])]
    assert "<h1>1,234 questions in 2 datasets</h1>" in head
    assert 'data-figure="/systems/0">31%</strong>' in head
    assert 'data-record="data/reports/trial/two/report.json"' in head
    assert "(95% interval 16% to 31%)" in head
    assert "Of 3 systems evaluated on Films" in head
    assert "significantly better than “alone”." in head
    assert "“good” does not differ significantly from “weak”." in head
    assert 'href="#warnings">has warnings</a>' in head
    charts = text[text.index('id="systems"') : text.index('id="warnings"')]
    assert charts.index("Accuracy on Films (%)") < charts.index("Accuracy on Boats (%)")
    assert "another measure" not in charts


def test_without_a_test_nothing_is_said_of_differences(tmp_path):
    folder = write_assessment(tmp_path, "one", {"weak": 1.5, "good": 3.0}, top=5, measure="score")
    _, head = read_front(tmp_path, [folder], find_beaten=lambda *_: pytest.fail("one assessment has no pair"))
    assert "has the highest score: <strong" in head
    assert ">3.000</strong>" in head
    assert "No test compares this system with the other systems." in head
    assert "significant" not in head


def test_one_system_is_told_alone_and_no_chart_is_drawn(tmp_path):
    text, head = read_front(tmp_path, [write_assessment(tmp_path, "one", {"good": 0.5})])
    assert "<h1>1 system evaluated</h1>" in head
    assert "on Films: accuracy" in head
    assert 'id="systems"' not in text


def test_a_record_without_a_count_of_questions_is_read(tmp_path):
    folder = write_dataset(tmp_path, "films", 7)
    record = json.loads((folder / RECORD).read_text())
    del record["counts"]
    (folder / RECORD).write_text(json.dumps(record))
    _, head = read_front(tmp_path, [folder])
    assert "<h1>Benchmarks</h1>" in head


def test_a_caution_is_one_sentence_with_links_to_where_it_is_explained(tmp_path):
    warnings = ["The judge got 18 of 24 right (90.0% required). Read its verdicts first.", "20 rows are few."]
    folders = [
        write_assessment(tmp_path, name, {"s": 0.5}, warnings=[*warnings[:1], *more])
        for name, more in (("a", warnings[1:]), ("b", []), ("c", []), ("d", []))
    ]
    text, _ = read_front(tmp_path, folders)
    cautions = text[
        text.index('<ul class="warning">') : text.index("</ul>", text.index('<ul class="warning">'))
    ]
    assert cautions.count("<li>") == 2
    assert "Read its verdicts" not in cautions
    assert 'href="trial/a/index.html#warnings"' in cautions
    assert "and 1 more" in cautions


def test_samples_have_no_canned_opener_where_the_dataset_has_others():
    plain = ["Which row is first?", "what is the second row", "rows after the third", "How long is the row?"]
    rows = [SampleQuestion(f"question={text}", text, "") for text in [*OPENED, *plain]]
    assert [sample.text for sample in choose_samples(rows, 3)] == [plain[0], plain[1], plain[3]]
    assert [sample.text for sample in choose_samples(rows, 4)][3] == plain[2]
    assert len(choose_samples(rows, 6)) == 6
    assert choose_samples([], 4) == []


def test_samples_of_one_rank_are_spread_over_the_dataset():
    rows = [SampleQuestion(str(n), f"What is row {n}?", "") for n in range(100)]
    assert [sample.link for sample in choose_samples(rows)] == ["0", "25", "50", "75"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("What is it?", "film in the catalogue with Kim"),
        ("film in the catalogue with Kim", "I am busy. What is it?"),
        ("What is it?", f"What is {'very ' * 40}long?"),
        ("what is the U.S. airport", "Somebody asks! What is it?"),
    ],
)
def test_what_reads_naturally_comes_first(first, then):
    assert order_naturally(first) < order_naturally(then)
