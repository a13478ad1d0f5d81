"""Which rule decides whether a response is right; where none does, a judge is asked."""

from __future__ import annotations

from tasks.judging.abstention import says_nothing_else
from tasks.judging.equality import find_equality, is_empty, normalise
from tasks.judging.restating import NOTHING, OTHER_NUMBER, PART, find_restatement
from tasks.scoring.correctness import Correctness

EMPTY, ABSTAINS = "empty", "abstains"
NO_ANSWER = (EMPTY, ABSTAINS, NOTHING)
WRONG = (*NO_ANSWER, PART, OTHER_NUMBER)


def find_rule(answer: str, response: str, question: str) -> str:
    """Name the rule that decides: `empty`, `abstains`, one of equality or of restating; or an empty text."""
    if is_empty(response):
        return EMPTY
    if equal := find_equality(answer, response, question):
        return equal
    if says_nothing_else(normalise(response)):
        return ABSTAINS
    return find_restatement(answer, response, question)


def label_by_rule(rule: str) -> Correctness | None:
    """Return the verdict of a rule that decides, as `find_rule` names it; None where none does."""
    if not rule:
        return None
    return Correctness.INCORRECT if rule in WRONG else Correctness.CORRECT
