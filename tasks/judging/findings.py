"""Define the result of the rules for a response: the deciding rule and the found value."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.scoring.correctness import Correctness

EMPTY, ABSTAINS = "empty", "abstains"
STATED, HOLDS = "stated", "holds"
NOTHING, PART, OTHER_VALUE, NO_VALUE = "nothing", "part", "other value", "no value"
NO_ANSWER = (EMPTY, ABSTAINS, NOTHING)
WRONG = (*NO_ANSWER, PART, OTHER_VALUE, NO_VALUE)


@dataclass(frozen=True)
class RuleFinding:
    """The deciding rule, and the value that it found in the response. Both are empty if no rule decides."""

    rule: str = ""
    found: str = ""

    def __bool__(self) -> bool:
        return bool(self.rule)


UNDECIDED = RuleFinding()


def label_by_rule(rule: str) -> Correctness | None:
    """Return the verdict of a rule; None if the name of the rule is empty."""
    if not rule:
        return None
    return Correctness.INCORRECT if rule in WRONG else Correctness.CORRECT
