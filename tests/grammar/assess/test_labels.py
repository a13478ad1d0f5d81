"""Tests that an unknown label in an artifact is an error with artifact, row, column and word."""

import dataclasses

import pytest

from tasks.errors import BadInput
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.baselines import BaselineLabel, BaselinePart, BaselineVerdict, ClaimSupport
from tasks.grammar.assess.closed_domain import closed_domain
from tasks.grammar.assess.human_labels import AnswerLabel
from tasks.grammar.assess.judged import JudgedRow, tag_rows
from tasks.grammar.assess.judgements import Judgement, list_scored
from tasks.judging.canaries import read_canaries
from tasks.scoring.correctness import Correctness
from tests.scoring.labelled_file import UNKNOWN, assert_unknown_word_is_named

RIGHT = Correctness.CORRECT
ENTRY = AssessmentEntry(database="clinic", system="rag", llm_only="alone")
ROWS = {
    "judgements": Judgement("row-a", "q", "g", "short", RIGHT, "", "", (RIGHT,), "", ()),
    "human_labels": AnswerLabel("row-a", "answer", "ann", RIGHT, ()),
    "baselines": BaselineVerdict(
        "row-a",
        "a",
        "q",
        "g",
        "m",
        BaselineLabel.CORRECT,
        1.0,
        (BaselinePart("x", ClaimSupport.YES),),
        "",
        (),
    ),
}


@pytest.mark.parametrize(
    ("artifact", "column", "cell", "place"),
    [
        ("judgements", "judgement", UNKNOWN, "judgement"),
        ("judgements", "verdicts", ["Correct", UNKNOWN], "verdicts.1"),
        ("human_labels", "label", UNKNOWN, "label"),
        ("baselines", "verdict", UNKNOWN, "verdict"),
        ("baselines", "parts", [{"text": "x", "holds": UNKNOWN, "rule": ""}], "parts.0.holds"),
    ],
)
def test_an_unknown_word_raises_and_is_named(tmp_path, artifact, column, cell, place):
    assert_unknown_word_is_named(tmp_path, artifact, ROWS[artifact], column, cell, place)


def test_a_canary_with_an_unknown_label_is_refused(tmp_path):
    path = tmp_path / "canaries.yaml"
    path.write_text("- {id: a, kind: label, accepted: [Wrong], query: q, answer: a, response: r}\n")
    with pytest.raises(
        BadInput, match="'Wrong' is not a Correctness label: expected one of Correct, Incorrect"
    ):
        read_canaries("label", path)


def test_a_label_without_a_score_is_unscored_and_kept(monkeypatch):
    """Two rows of a group: one correct, one with a label without a score."""
    monkeypatch.setattr(Correctness.INCORRECT, "score", None)
    rows = [
        dataclasses.replace(ROWS["judgements"], id=name, judgement=label)
        for name, label in zip("ab", Correctness, strict=True)
    ]
    (group,) = closed_domain(rows, ENTRY, {}).rows
    assert (group.scored, group.correct) == (1, 1)
    assert [row.value for row in list_scored(rows)] == [1.0, None]
    judged = [JudgedRow(row.id, "g", "short", row.judgement, frozenset("d"), frozenset("d")) for row in rows]
    assert [row.judged.id for row in tag_rows(judged, "open")] == ["a"]
