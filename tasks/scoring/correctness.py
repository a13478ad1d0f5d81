"""Whether a response states the true answer: the label that judges, rules and people give."""

from __future__ import annotations

from tasks.scoring.label import Label


class Correctness(Label):
    """The verdict on a response, given the true answer."""

    CORRECT = "Correct", "", 1.0
    INCORRECT = "Incorrect", "", 0.0
