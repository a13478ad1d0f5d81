"""Tests of people's labels: rows to label, matching of a file's lines, and errors per line."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.artifacts.rows import Drafts, Dropped
from tasks.errors import BadInput
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.exhibits import show_step
from tasks.longform.judge.human_labels import PersonLabel, human_labels
from tasks.longform.judge.judged_parts import FORM, list_parts, make_form
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import Verdict
from tasks.longform.outcomes import join_outcomes
from tasks.longform.solve.interaction import AgentStep
from tasks.longform.tables_peers import Peers
from tasks.longform.tables_people import compare_with_people, measure_people
from tests.longform.scripted_judges import make_interaction, make_item, make_query, make_review

ITEMS = [make_item(1), make_item(2, kind="interpretive"), make_item(3)]
FAILED = make_query([], sql="SELECT bribe FROM shifts", error="SqlFailed: no such column: bribe")
INTERACTIONS = [
    make_interaction(
        1,
        queries=(make_query([["Ruvay", 28]], n_rows=9), FAILED),
        steps=(AgentStep("statistic", "pearson(ships, island): 0.5"), AgentStep("answer", "No.")),
    ),
    make_interaction(2, "guess", plan="", queries=(), answer="-1 of them, perhaps."),
    make_interaction(3, answer=None, problem="agent_answer: no reply parsed"),
]
VERDICTS = [
    ReferenceVerdict("v1", "x1-sequential", "i1", "conclusive", Verdict.MATCH, None, "", "", ()),
    ReferenceVerdict("v2", "x2-guess", "i2", "interpretive", None, 4, "", "", ()),
    ReferenceVerdict("v3", "x3-sequential", "i3", "conclusive", None, None, "", "no answer", ()),
]
REVISIONS = [
    *(make_review("Perfect", 0, step) for step in ("IP", "TE", "IS")),
    make_review(None, 0, "IP", id="r3", interaction="x3-sequential", item="i3"),
]
ENTRY = AgentEvaluation(set="tiny", agents=("sequential", "guess"), labels=Path("data/labels/tiny.csv"))


def read(file: Path) -> Drafts[PersonLabel]:
    entry = ENTRY.model_copy(update={"labels": file})
    return human_labels(ITEMS, INTERACTIONS, VERDICTS, REVISIONS, entry)


def label(folder: Path, *lines: tuple[str, ...]) -> Drafts[PersonLabel]:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("id", "label", "rater", "response"), *lines])
    (folder / "labels.csv").write_text(text.getvalue(), encoding="utf-8")
    return read(folder / "labels.csv")


def tabulate(labels: list[PersonLabel], dropped: tuple[Dropped, ...] = (), entry: Any = ENTRY) -> Any:
    outcomes = join_outcomes(ITEMS, INTERACTIONS, VERDICTS)
    return compare_with_people(outcomes, Peers.gather([], [], REVISIONS), labels, dropped, entry)


def test_labels_are_matched_by_verdict_and_by_what_was_said(tmp_path: Path) -> None:
    drafts = label(
        tmp_path,
        ("v1", "Match", "ann", "Yes, 28\nagainst 14."),
        ("v1", "Not Match", "ben", ""),
        ("v2", "3", "ann", "'-1 of them, perhaps."),
        ("r-IP-0", "Imperfect", "ann", "Sum the ships by island."),
        ("r-IS-0", "Perfect", "ann", "No, 14 against 28."),
        ("v1", "4", "eve", ""),
        ("r-TE-0", "Match", "ann", ""),
        ("v3", "Match", "ann", ""),
        ("nothing", "Match", "ann", ""),
        ("r-TE-0", "fine", "ann", ""),
        ("r-TE-0", "", "ann", ""),
        ("v1", "Match", "ann", ""),
    )
    assert [(row.interaction, row.item, row.part, row.rater, row.label) for row in drafts.rows] == [
        ("x1-sequential", "i1", "match", "ann", "Match"),
        ("x1-sequential", "i1", "match", "ben", "Not Match"),
        ("x2-guess", "i2", "match", "ann", "3"),
        ("x1-sequential", "i1", "IP", "ann", "Imperfect"),
    ]
    assert {row.detail.partition(":")[0]: row.reason for row in drafts.dropped} == {
        "line 7": "other_response",
        "line 8": "other_scale",
        "line 9": "other_scale",
        "line 10": "unknown_verdict",
        "line 11": "unknown_verdict",
        "line 12": "no_label",
        "line 14": "labelled_twice",
    }
    assert [[origin.reference for origin in row.origin] for row in drafts.rows][::3] == [
        ["reference_verdicts#v1", "data/labels/labels.csv"],
        ["revisions#r-IP-0", "data/labels/labels.csv"],
    ]


def test_without_a_file_there_is_no_label() -> None:
    entry = AgentEvaluation(set="tiny")
    assert human_labels(ITEMS, INTERACTIONS, VERDICTS, REVISIONS, entry).rows == []
    table = tabulate([], entry=entry)
    assert (table.columns, table.lines) == ((), ())
    assert "set the evaluation's `labels` in params.yaml" in table.notes[0]


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.csv") as caught:
        read(tmp_path / "none.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["/etc/labels.csv", "labels.csv", "data/labels/a/b.csv"])
def test_a_file_outside_of_the_folder_is_refused_since_no_change_of_it_would_be_seen(path: str) -> None:
    with pytest.raises(ValidationError, match="must be a file in data/labels"):
        AgentEvaluation(set="tiny", labels=path)


def test_the_form_shows_what_a_judge_is_shown_and_no_verdict() -> None:
    parts = list_parts(ITEMS, INTERACTIONS, VERDICTS, REVISIONS)
    lines = {row["id"]: row for row in csv.DictReader(io.StringIO(make_form(parts)))}
    assert list(lines) == ["r-IP-0", "r-IS-0", "r-TE-0", "v1", "v2"]  # no rows without an answer
    assert tuple(lines["v1"]) == FORM
    assert {row["label"] for row in lines.values()} == {""}
    assert lines["v1"]["choices"] == "Match | Not Match"
    assert lines["v2"]["choices"] == "1 | 2 | 3 | 4 | 5"
    assert lines["v2"]["response"] == "'-1 of them, perhaps."  # not a spreadsheet formula
    assert lines["v1"]["reference"] == "Yes, 28 against 14."
    assert [lines["r-IP-0"][name] for name in ("reference", "plan", "queries")] == ["", "", ""]
    assert lines["r-IP-0"]["response"] == "Sum the ships by island."
    assert lines["r-TE-0"]["plan"] == "Sum the ships by island."
    shown = lines["r-TE-0"]["response"]
    assert lines["r-IS-0"]["queries"] == shown
    assert 'Rows: 9\n["island", "ships"]\n["Ruvay", 28]' in shown
    assert "2. SELECT bribe FROM shifts\nIt failed: SqlFailed: no such column: bribe" in shown


def test_the_form_has_the_database_and_the_statistics_that_reviewers_are_shown() -> None:
    parts = list_parts(ITEMS, INTERACTIONS, VERDICTS, REVISIONS)
    lines = {row["id"]: row for row in csv.DictReader(io.StringIO(make_form(parts)))}
    for part in parts:
        if part.artifact != "revisions":
            assert (lines[part.id]["database"], lines[part.id]["statistics"]) == ("", "")
            continue
        titles = {
            exhibit.title.partition(" (")[0]: exhibit.text.replace("\n> ", "\n")
            for exhibit in show_step(part.item, part.interaction, part.part, 100_000)
        }
        shown = lines[part.id]
        assert "-- 3 sample rows of keepers:" in shown["database"]
        assert shown["database"] in titles["Database"]
        computed = titles.get("Statistics that the agent had computed", "")
        assert bool(shown["statistics"]) == bool(computed) == (part.part != "IP")
        assert shown["statistics"] in computed


def test_a_filled_in_form_is_taken_whole(tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(make_form(list_parts(ITEMS, INTERACTIONS, VERDICTS, REVISIONS)))))
    filled = [[*row[:-2], row[FORM.index("choices")].split(" | ")[0], "ann"] for row in rows[1:]]
    with (tmp_path / "form.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([rows[0], *filled])
    drafts = read(tmp_path / "form.csv")
    assert (len(drafts.rows), len(drafts.dropped)) == (5, 0)


def test_a_label_of_another_run_is_said_in_the_table() -> None:
    dropped = (Dropped("a", "other_response", "line 2: v1 has another response in this run"),)
    table = tabulate([], dropped)
    assert table.lines == ()
    assert "no label for an answer" in table.notes[0]
    assert "1 other_response (such as line 2: v1" in table.notes[1]


def test_people_who_disagree_with_the_judge_are_measured(tmp_path: Path) -> None:
    labels = list(
        label(
            tmp_path, ("v1", "Not Match", "ann", ""), ("v2", "4", "ann", ""), ("r-IP-0", "Perfect", "ann", "")
        ).rows
    )
    outcomes = join_outcomes(ITEMS, INTERACTIONS, VERDICTS)
    found = measure_people(outcomes, Peers.gather([], [], REVISIONS), labels, ENTRY)
    assert found.judge is not None
    assert found.reviewer is not None
    assert (found.judge.n, found.judge.agreement) == (2, 0.5)
    assert (found.reviewer.n, found.reviewer.agreement) == (1, 1.0)
    steps = [row for row in labels if row.part != "match"]
    assert measure_people(outcomes, Peers.gather([], [], REVISIONS), steps, ENTRY).judge is None
    # A missing verdict is counted, but is not a disagreement.
    unscored = [replace(row, interaction="x3-sequential") for row in labels if row.label == "Not Match"]
    missing = measure_people(outcomes, Peers.gather([], [], REVISIONS), unscored, ENTRY).judge
    assert missing is not None
    assert (missing.n, missing.n_unscored, missing.agreement) == (0, 1, None)
