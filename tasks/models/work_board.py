"""How far work is that asks no model: a line for each piece of it, with its rate and the time left.

Whoever goes through many things fills the board, and whoever reports a command reads it.
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
"""Things a second below which people count by the minute."""


@dataclass
class WorkProgress:
    """One piece of work.

    total: of the things that it goes through, 0 if it does not count. expected_s: how long it took last time.
    quiet: shown only while nothing else is.
    """

    name: str
    total: int = 0
    unit: str = ""
    expected_s: float = 0.0
    quiet: bool = False
    done: int = 0
    begun_at: float = field(default_factory=time.monotonic)

    def tell(self, count: int = 1) -> None:
        """Count things that are done."""
        self.done += count

    def estimate_left(self, now: float) -> float | None:
        """Estimate the seconds to its end: by its rate, else by last time; None where neither tells."""
        seconds = now - self.begun_at
        if self.total and self.done:
            return seconds / self.done * (self.total - self.done)
        return self.expected_s - seconds if self.expected_s > seconds else None

    def describe(self, now: float) -> str:
        """Format it as one line."""
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
    """The work that is under way in this process."""

    def __init__(self) -> None:
        self._works: list[WorkProgress] = []
        self._mutex = threading.Lock()

    @contextmanager
    def follow(self, work: WorkProgress) -> Iterator[WorkProgress]:
        """Show a piece of work until the block ends."""
        with self._mutex:
            self._works.append(work)
        try:
            yield work
        finally:
            with self._mutex:
                self._works = [other for other in self._works if other is not work]

    def iterate(self, name: str, items: Collection[Item], unit: str) -> Iterator[Item]:
        """Go through items, and show how many are done. unit: what they are called, in the plural."""
        with self.follow(WorkProgress(name, len(items), unit)) as work:
            for item in items:
                yield item
                work.tell()

    def describe(self, most: int, *, alone: bool, least_s: float = 0.0) -> list[str]:
        """Format at most so many lines, of what began first.

        alone: whether nothing else is shown. least_s: work that began fewer seconds ago is not shown.
        """
        with self._mutex:
            works = list(self._works)
        now = time.monotonic()
        works = [work for work in works if now - work.begun_at >= least_s]
        loud = [work for work in works if not work.quiet]
        shown = loud or (works if alone else [])
        return [work.describe(now) for work in shown[: max(most, 0)]]


def format_rate(per_second: float) -> str:
    """Format how many things come a second, or a minute where they are few."""
    if 0 < per_second < SLOW:
        return f"{per_second * 60:.1f} a minute"
    return f"{per_second:,.1f} a second"


WORK = WorkBoard()
"""Of this process."""
