"""Define labels: kinds of questions, values of `confirmed_by`, verdicts on answers and steps, error types."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.scoring.label import Label

CONCLUSIVE, INTERPRETIVE = "conclusive", "interpretive"
KINDS = (CONCLUSIVE, INTERPRETIVE)
"""The kinds of questions: with a definite answer, or with an answer that interprets an abstract word.

Section 2.2 of the paper defines both kinds.
"""
BY_MODEL, BY_NOBODY = "model", "nobody"
UNREAD = (BY_MODEL, BY_NOBODY)
"""The values of `confirmed_by` for a question that no person has confirmed."""
STEPS = ("IP", "TE", "IS")
"""The steps of an interaction: interaction planning, tool employment, information synthesis.

Section 3 of the paper defines these steps.
"""
ANSWER = "match"
"""The value of `part` for an answer compared with the reference; the other values are steps."""


class Verdict(Label):
    """A verdict on an answer or on a step."""

    MATCH = "Match", "Match", 1.0
    NOT_MATCH = "Not Match", "Not Match", 0.0
    ONE = "1", "1 of 5", 1.0
    TWO = "2", "2 of 5", 2.0
    THREE = "3", "3 of 5", 3.0
    FOUR = "4", "4 of 5", 4.0
    FIVE = "5", "5 of 5", 5.0
    PERFECT = "Perfect", "Perfect", 1.0
    IMPERFECT = "Imperfect", "Imperfect", 0.0


MATCHES = (Verdict.MATCH, Verdict.NOT_MATCH)
SCORES = (Verdict.ONE, Verdict.TWO, Verdict.THREE, Verdict.FOUR, Verdict.FIVE)
PEER_VERDICTS = (Verdict.PERFECT, Verdict.IMPERFECT)
CHOICES: Mapping[str, tuple[Verdict, ...]] = {
    CONCLUSIVE: MATCHES,
    INTERPRETIVE: SCORES,
    **dict.fromkeys(STEPS, PEER_VERDICTS),
}
"""Map each kind of item to the possible verdicts on an answer, and each step to its possible verdicts."""


class ErrorType(Label):
    """A type of error in an imperfect step; prompts/error_type.md defines each type.

    The types are those of section 4.5 of the paper, plus `wrong_query`, `wrong_synthesis` and `other`.
    Without these three types, a judge would have to choose a wrong type for some errors.
    """

    MISREAD_COLUMN = "misread_column", "misread column"
    WRONG_ASSUMPTION = "wrong_assumption", "wrong assumption"
    MISSED_COLUMN = "missed_column", "missed column"
    SAMPLING_BIAS = "sampling_bias", "sampling bias"
    STATISTICS_NOT_COMPUTED = "statistics_not_computed", "statistics not computed"
    WRONG_QUERY = "wrong_query", "wrong query"
    INHERITED = "inherited"
    WRONG_SYNTHESIS = "wrong_synthesis", "wrong synthesis"
    OTHER = "other"


ERRORS: Mapping[str, tuple[ErrorType, ...]] = {
    "IP": (
        ErrorType.MISREAD_COLUMN,
        ErrorType.WRONG_ASSUMPTION,
        ErrorType.MISSED_COLUMN,
        ErrorType.SAMPLING_BIAS,
        ErrorType.OTHER,
    ),
    "TE": (ErrorType.STATISTICS_NOT_COMPUTED, ErrorType.WRONG_QUERY, ErrorType.OTHER),
    "IS": (ErrorType.INHERITED, ErrorType.WRONG_SYNTHESIS, ErrorType.OTHER),
}
"""Map each step to the types of errors that it may have."""
