"""Define outcome labels for executed queries, executed programs and judged steps."""

from __future__ import annotations

from tasks.scoring.label import Label


class Outcome(Label):
    """The outcome of an answer. A label without a score is not a verdict on the answer.

    `benchloom score` counts an answer without a verdict as failed. `benchloom streambench` counts an answer
    without a verdict as wrong (StreamBench, section 3.1).
    """

    CORRECT = "correct", "", 1.0
    WRONG = "wrong", "", 0.0
    EMPTY = "empty", "", 0.0
    """Only for the rule `streambench`: at least one of the two results has no rows."""
    ERROR = "error", "", 0.0
    TIMEOUT = "timeout", "", 0.0
    MEMORY = "memory", "", 0.0
    GOLD_ERROR = "gold-error"
    """The gold query does not run."""
    NOT_RUN = "not-run"
    """The libraries of the test program do not load."""
    NOT_SHOWN = "not-shown"
    """A value cannot be sent between the program process and the verdict process."""
    FAILED = "failed"
    """There is no answer."""
    UNJUDGED = "unjudged"
    """There is an answer, but no judge or rule could score it."""
