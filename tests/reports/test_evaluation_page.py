"""Tests of the page that every flow has for its scored answers."""

import json
from pathlib import Path

import pytest

from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import EvaluatedRows, ScoredSystem
from tasks.reports.evaluation_page import evaluation_page
from tests.browser.watch import Complaints, open_chromium

SCORES = {"good": [1, 1, 1, 0, 1, 1, 1, None], "bad": [0, 1, 0, 0, 0, 0, 1, 0]}


def make_scored_system(system: str) -> ScoredSystem:
    answers = []
    for place, value in enumerate(SCORES[system]):
        own = f"{system}-{place}"
        further = {"words": 2.0}
        answered = Answered(
            own, f"item-{place}", system, "accuracy", f"Question {place}?", "Yes", "No", "", further
        )
        answers.append((Scored(own, f"group-{place // 2}", value), answered))
    return ScoredSystem("toy.runs", "sample", system, answers)


def write_example(folder: Path, systems: tuple[str, ...] = ("bad", "good")) -> Path:
    out = folder / "data" / "reports" / "toy" / "sample"
    evaluated = EvaluatedRows(
        folder / "data" / "toy" / "scores.parquet", [make_scored_system(name) for name in systems]
    )
    counts = evaluation_page(evaluated, "sample", out, folder / "data" / "metrics", folder / "data" / "bars")
    assert counts.rows_in == 8 * len(systems)
    return out


def test_means_are_over_what_was_scored_and_what_was_not_stands_beside_them(tmp_path):
    record = json.loads((write_example(tmp_path) / "report.json").read_text())
    means, pairs = record["tables"]
    assert [line["label"] for line in means["lines"]] == ["bad", "good"]
    bad, good = (line["cells"][0] for line in means["lines"])
    assert (bad["value"], bad["n"], bad["failed"]) == (2 / 8, 8, 0)
    assert (good["value"], good["n"], good["failed"]) == (pytest.approx(6 / 7), 7, 1)
    assert good["basis"]["rows"][0]["artifact"] == "scores"
    assert len(good["basis"]["rows"][0]["where"]["id"]) == 7
    assert record["warnings"] == ["1 of 16 answers could not be scored. The means leave out these answers."]
    # Over the 7 items scored by both: 6 of 7 correct minus 2 of 7.
    difference, adjusted = next(
        line["cells"] for line in pairs["lines"] if line["label"].endswith("accuracy")
    )
    assert (difference["value"], difference["n"]) == (pytest.approx(4 / 7), 7)
    assert adjusted == {"step": "p, Holm", "why": "not tested: 4 groups of items are too few"}
    assert [system["system"] for system in record["systems"]] == ["bad", "good"]


def test_a_single_system_has_no_pairs(tmp_path):
    record = json.loads((write_example(tmp_path, ("good",)) / "report.json").read_text())
    assert [table["key"] for table in record["tables"]] == ["means"]


@pytest.mark.browser
def test_an_answer_is_opened_and_wrong_ones_are_found(tmp_path):
    out = write_example(tmp_path)
    complaints = Complaints("file:")
    with open_chromium() as browser:
        page = browser.new_page()
        complaints.hear(page)
        page.goto(f"{(out / 'index.html').as_uri()}#answer=good-3")
        page.wait_for_selector("#detail >> text=Question 3?")
        page.select_option("#by-outcome", "not scored")
        assert page.inner_text("#found") == "1 of 16 answers"
        assert complaints.lines == []
