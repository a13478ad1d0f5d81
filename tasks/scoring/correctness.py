"""Labels for the correctness of a response, which judges, rules and people assign."""

from __future__ import annotations

from tasks.scoring.label import Label


class Correctness(Label):
    """The verdict on a response, given the true answer."""

    CORRECT = "Correct", "", 1.0
    INCORRECT = "Incorrect", "", 0.0
