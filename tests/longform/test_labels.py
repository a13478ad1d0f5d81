"""Tests of labels by judges and people: scores, allowed labels, and unknown labels in artifacts."""

from pathlib import Path

import pytest

from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.human_labels import PersonLabel
from tasks.longform.judge.judge_repeats import SWAPPED, JudgeRepeat
from tasks.longform.judge.reference_verdicts import ReferenceVerdict, list_scored
from tasks.longform.labels import ANSWER, CHOICES, ERRORS, STEPS, ErrorType, Verdict
from tasks.scoring.label import UnknownLabel
from tests.longform.scripted_judges import make_review
from tests.scoring.labelled_file import assert_unknown_word_is_named

VERDICT = ReferenceVerdict("row-a", "x1", "i1", "conclusive", Verdict.MATCH, None, "", "", ())
REVIEW = make_review("Perfect", id="row-a")
REPEAT = JudgeRepeat("row-a", "x1", "i1", ANSWER, SWAPPED, Verdict.FOUR, Verdict.FIVE, "", ())


@pytest.mark.parametrize(
    ("stage", "row", "column"),
    [
        ("reference_verdicts", VERDICT, "label"),
        ("reviews", REVIEW, "verdict"),
        ("meta_reviews", REVIEW, "verdict"),
        ("revisions", REVIEW, "verdict"),
        ("judge_repeats", REPEAT, "before"),
        ("judge_repeats", REPEAT, "verdict"),
        ("error_types", ErrorLabel("row-a", "x1", "i1", "IP", ErrorType.OTHER, "", ()), "label"),
        ("human_labels", PersonLabel("row-a", "x1", "i1", "IP", "ann", Verdict.PERFECT, ()), "label"),
    ],
)
def test_an_unknown_word_names_the_stage_s_artifact_the_row_and_the_word(
    tmp_path: Path, stage: str, row: object, column: str
) -> None:
    assert_unknown_word_is_named(tmp_path, stage, row, column)


def test_a_score_beyond_the_scale_raises() -> None:
    odd = ReferenceVerdict("row-a", "x1", "i1", "interpretive", None, 6, "", "", ())
    with pytest.raises(UnknownLabel, match="'6' is not a Verdict label"):
        list_scored([odd])


def test_nights_compare_a_match_and_a_score_on_one_scale() -> None:
    scores = [
        ReferenceVerdict("s", "x", "i", "interpretive", None, score, "", "", ()) for score in range(1, 6)
    ]
    assert [row.value for row in list_scored(scores)] == [0, 0.25, 0.5, 0.75, 1]
    missed = ReferenceVerdict("m", "x", "i", "conclusive", Verdict.NOT_MATCH, None, "", "", ())
    unread = ReferenceVerdict("u", "x", "i", "conclusive", None, None, "", "no_verdict", ())
    assert [row.value for row in list_scored([VERDICT, missed, unread])] == [1, 0, None]


def test_every_verdict_and_every_error_is_a_choice_somewhere() -> None:
    assert {word for words in CHOICES.values() for word in words} == set(Verdict)
    assert {word for words in ERRORS.values() for word in words} == set(ErrorType)
    assert set(ERRORS) == set(STEPS) < set(CHOICES)
