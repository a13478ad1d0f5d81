"""Progress lines for tasks without model calls, with the rate and the time left.

Code that processes many items updates the board, and progress reports read it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from tasks.models.stream_board import format_time

Item = TypeVar("Item")
SLOW = 0.1
"""Rate in items per second below which rates are shown per minute."""


@dataclass
class WorkProgress:
    """The progress of one task.

    `total`: number of items, 0 if unknown. `expected_s`: duration in seconds of the previous run, 0 if
    unknown. `quiet`: show the task only if there are no other progress lines.
    """

    name: str
    total: int = 0
    unit: str = ""
    expected_s: float = 0.0
    quiet: bool = False
    done: int = 0
    begun_at: float = field(default_factory=time.monotonic)

    def tell(self, count: int = 1) -> None:
        """Add `count` finished items."""
        self.done += count

    def estimate_left(self, now: float) -> float | None:
        """Estimate the task's remaining seconds from its rate or previous duration; None if unknown."""
        seconds = now - self.begun_at
        if self.total and self.done:
            return seconds / self.done * (self.total - self.done)
        return self.expected_s - seconds if self.expected_s > seconds else None

    def describe(self, now: float) -> str:
        """Return the progress as one line."""
        seconds, left = now - self.begun_at, self.estimate_left(now)
        parts = [f"{self.name}: {format_time(seconds)} so far"]
        if self.total:
            parts = [f"{self.name}: {self.done:,} of {self.total:,} {self.unit}"]
            if self.done and seconds > 0:
                parts.append(format_rate(self.done / seconds))
        elif self.expected_s:
            parts.append(f"{format_time(self.expected_s)} last time")
        if left is not None:
            parts.append(f"time left about {format_time(left)}")
        return ", ".join(parts)


class WorkBoard:
    """The tasks that are running in this process."""

    def __init__(self) -> None:
        self._works: list[WorkProgress] = []
        self._mutex = threading.Lock()

    @contextmanager
    def follow(self, work: WorkProgress) -> Iterator[WorkProgress]:
        """Show a task on the board during the `with` block."""
        with self._mutex:
            self._works.append(work)
        try:
            yield work
        finally:
            with self._mutex:
                self._works = [other for other in self._works if other is not work]

    def iterate(self, name: str, items: Collection[Item], unit: str) -> Iterator[Item]:
        """Yield the items, and show how many are done. `unit`: the plural noun for the items."""
        with self.follow(WorkProgress(name, len(items), unit)) as work:
            for item in items:
                yield item
                work.tell()

    def describe(self, most: int, *, alone: bool, least_s: float = 0.0) -> list[str]:
        """Return at most `most` lines, for the tasks that started first.

        `alone`: whether there are no other progress lines. `least_s`: minimum age in seconds of the tasks to
        show.
        """
        with self._mutex:
            works = list(self._works)
        now = time.monotonic()
        works = [work for work in works if now - work.begun_at >= least_s]
        loud = [work for work in works if not work.quiet]
        shown = loud or (works if alone else [])
        return [work.describe(now) for work in shown[: max(most, 0)]]


def format_rate(per_second: float) -> str:
    """Return a rate per second, or per minute if the rate is low, as text."""
    if 0 < per_second < SLOW:
        return f"{per_second * 60:.1f} a minute"
    return f"{per_second:,.1f} a second"


WORK = WorkBoard()
"""The board of this process."""
