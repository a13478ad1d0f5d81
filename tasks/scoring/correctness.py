"""Define labels for the correctness of responses, assigned by judges, rules and people."""

from __future__ import annotations

from tasks.scoring.label import Label


class Correctness(Label):
    """The verdict on whether a response agrees with the true answer."""

    CORRECT = "Correct", "", 1.0
    INCORRECT = "Incorrect", "", 0.0
