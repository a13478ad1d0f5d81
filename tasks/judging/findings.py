"""Define the result of the rules for a response: the deciding rule and the found value."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.judging.equality import DATE, EXACT, LIST, NUMBER
from tasks.scoring.correctness import Correctness

EMPTY, ABSTAINS = "empty", "abstains"
STATED, HOLDS = "stated", "holds"
NOTHING, PART, OTHER_VALUE, NO_VALUE = "nothing", "part", "other value", "no value"
NO_ANSWER = (EMPTY, ABSTAINS, NOTHING)
WRONG = (*NO_ANSWER, PART, OTHER_VALUE, NO_VALUE)
SHOWN = {
    EXACT: "same text",
    NUMBER: "same number",
    DATE: "same date",
    LIST: "same list",
    STATED: "question repeated with the true answer",
    HOLDS: "true answer and no other possible answer",
    PART: "only part of the list",
    NOTHING: "question repeated but not answered",
    OTHER_VALUE: "wrong value",
    NO_VALUE: "no value in the response",
    EMPTY: "empty response",
    ABSTAINS: "abstention",
}
"""Rule -> the finding that pages display. Artifacts contain the name of the rule instead."""


@dataclass(frozen=True)
class RuleFinding:
    """The deciding rule, and the value that it found in the response.

    The rule and the value are empty if no rule decides.
    """

    rule: str = ""
    found: str = ""

    def __bool__(self) -> bool:
        return bool(self.rule)


UNDECIDED = RuleFinding()


def show_rule(rule: str) -> str:
    """Return the finding that pages display for a rule; for an unknown rule, the name of the rule."""
    return SHOWN.get(rule, rule)


def label_by_rule(rule: str) -> Correctness | None:
    """Return the verdict of a rule; None if the name of the rule is empty."""
    if not rule:
        return None
    return Correctness.INCORRECT if rule in WRONG else Correctness.CORRECT
