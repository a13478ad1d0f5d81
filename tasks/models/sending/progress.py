"""The progress of a run's live calls: counts, rate, cost and time left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.models.stream_board import format_time
from tasks.models.work_board import format_rate

if TYPE_CHECKING:
    from tasks.models.sending.results import CallResult

WINDOW = 512
"""Number of recent calls from which the rate is computed.

A rate over all calls would hide a stall; a rate over a few calls would fluctuate.
"""


@dataclass(frozen=True)
class Progress:
    """A snapshot of a run's calls. `waiting`: calls that were started but are not answered yet."""

    answered: int
    failed: int
    waiting: int
    per_second: float
    usd: float
    tokens: int
    failing: tuple[str, ...] = ()
    """One report line for each endpoint or system with at least two consecutive failures."""
    to_come: int | None = None
    """Number of the run's calls that have not started, estimated from earlier runs; None without earlier
    runs."""
    limit_usd: float | None = None
    limit_tokens: int | None = None
    """Limits of the run's budget in dollars (`limit_usd`) and in tokens (`limit_tokens`); None if there is no
    limit."""

    @property
    def left_s(self) -> float | None:
        """Return the estimated seconds until the run's calls are answered; None before the first answer.

        If `to_come` is unknown, the estimate covers only the waiting calls.
        """
        return (self.waiting + (self.to_come or 0)) / self.per_second if self.per_second else None

    def describe(self) -> str:
        """Return the progress as one line of text."""
        left = "unknown" if self.left_s is None else f"about {format_time(self.left_s)}"
        of = "for these" if self.to_come is None else f"with {self.to_come} to come"
        failed = f", {self.failed} failed" if self.failed else ""
        of_usd = "" if self.limit_usd is None else f" of ${self.limit_usd:.2f}"
        of_tokens = "" if self.limit_tokens is None else f" of {self.limit_tokens:,}"
        line = (
            f"calls: {self.answered} answered{failed}, {self.waiting} waiting, "
            f"{format_rate(self.per_second)}, {self.tokens:,}{of_tokens} tokens, ${self.usd:.4f}{of_usd}, "
            f"time left {left} {of}"
        )
        return "; ".join([line, *self.failing])


@dataclass
class CallCounter:
    """Counts live calls when they start and end. Only the model layer's event loop writes the counts."""

    answered: int = 0
    failed: int = 0
    waiting: int = 0
    usd: float = 0.0
    tokens: int = 0
    begun_at: float = 0.0
    finished_at: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def begin(self, count: int) -> None:
        """Add `count` to the started calls."""
        if not self.waiting:
            # The measurement restarts, because idle time must not lower the rate.
            self.begun_at = time.monotonic()
            self.finished_at.clear()
        self.waiting += count

    def end(self, count: int, answers: Collection[CallResult]) -> None:
        """Add `count` to the ended calls; calls that are not in `answers` failed or were cancelled."""
        now = time.monotonic()
        self.waiting -= count
        self.failed += count - len(answers)
        for result in answers:
            if result.live:
                self.answered += 1
                self.usd += result.cost.usd
                self.tokens += result.cost.tokens
            self.finished_at.append(now)

    def read_progress(self) -> Progress:
        """Return a snapshot of the progress."""
        since = self.finished_at[0] if len(self.finished_at) == WINDOW else self.begun_at
        seconds = time.monotonic() - since
        rate = len(self.finished_at) / seconds if self.finished_at and seconds > 0 else 0.0
        return Progress(self.answered, self.failed, self.waiting, rate, self.usd, self.tokens)
