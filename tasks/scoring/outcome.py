"""Define outcome labels for executed queries, executed programs and judged steps."""

from __future__ import annotations

from tasks.scoring.label import Label


class Outcome(Label):
    """The outcome of an answer. A label without a score is not a verdict on the answer.

    `benchloom score` counts answers without a verdict as failed; StreamBench counts these steps as wrong
    (section 3.1).
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
    """The libraries of the test program are not installed."""
    NOT_SHOWN = "not-shown"
    """The result of the program cannot be sent to the test's process."""
    FAILED = "failed"
    """There is no answer."""
    UNJUDGED = "unjudged"
    """There is an answer, but no judge or rule could score it."""
