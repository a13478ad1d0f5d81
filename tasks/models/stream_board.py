"""Progress lines, with the time left, for streams of dependent calls.

Stages update the board, and progress reports read it. The number of waiting calls does not show the progress
of a stream, because a stream's next call starts only after the previous call is answered.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

RECENT = 20
"""Number of recent steps from which the rate is computed.

Earlier steps may have been faster, because their answers came from the ledger.
"""


@dataclass
class StreamProgress:
    """The progress of one stream. `right`: number of correct steps so far."""

    name: str
    total: int
    done: int = 0
    right: int = 0
    finished_at: deque[float] = field(default_factory=lambda: deque([time.monotonic()], maxlen=RECENT + 1))

    def tell(self, bit: bool) -> None:
        """Count a finished step. `bit`: whether the step was correct."""
        self.done += 1
        self.right += bit
        self.finished_at.append(time.monotonic())

    def estimate_left(self, now: float) -> float | None:
        """Return the estimated seconds until the stream ends; None before the end of the first step."""
        if self.done == self.total:
            return 0.0
        if not self.done:
            return None
        # A running step that is slower than the previous steps already lowers the rate.
        pace = max(
            (self.finished_at[-1] - self.finished_at[0]) / (len(self.finished_at) - 1),
            (now - self.finished_at[0]) / len(self.finished_at),
        )
        return pace * (self.total - self.done)

    def describe(self, now: float, width: int) -> str:
        """Return the progress as one line. `width`: the column width of the stream's name."""
        left = self.estimate_left(now)
        state = "done" if left == 0 else f"left {'unknown' if left is None else format_time(left)}"
        return f"  {self.name:<{width}}  {self.done:>5}/{self.total}  right {self.right:>5}  {state}"


class StreamBoard:
    """The streams that run in this process."""

    def __init__(self) -> None:
        self._lines: list[StreamProgress] = []
        self._mutex = threading.Lock()

    @contextmanager
    def follow(self, totals: dict[str, int]) -> Iterator[dict[str, StreamProgress]]:
        """Show streams (name -> number of steps) on the board during the `with` block."""
        lines = {name: StreamProgress(name, total) for name, total in totals.items()}
        with self._mutex:
            self._lines += lines.values()
        try:
            yield lines
        finally:
            with self._mutex:
                self._lines = [line for line in self._lines if lines.get(line.name) is not line]

    def describe(self, most: int) -> list[str]:
        """Return at most `most` lines: a summary, then the streams with the most steps left.

        If streams are omitted, the last line states their number. Returns no lines if no stream is running.
        """
        with self._mutex:
            lines = list(self._lines)
        if not lines:
            return []
        now = time.monotonic()
        lefts = [line.estimate_left(now) for line in lines]
        known = [left for left in lefts if left is not None]
        left = "unknown" if len(known) < len(lines) else f"about {format_time(max(known))}"
        done, total = sum(line.done for line in lines), sum(line.total for line in lines)
        ended = sum(line.done == line.total for line in lines)
        head = f"streams: {ended} of {len(lines)} done, step {done} of {total}, time left {left}"
        room = max(0, most - 1)
        shown = sorted(lines, key=lambda line: (line.done - line.total, line.name))
        if len(shown) > room:
            shown = shown[: max(0, room - 1)]
        width = max((len(line.name) for line in shown), default=0)
        rest = len(lines) - len(shown)
        more = [f"  and {rest} more"] if rest and room else []
        return [head, *(line.describe(now, width) for line in shown), *more]


def format_time(seconds: float) -> str:
    """Format seconds as hours, minutes and seconds: 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


BOARD = StreamBoard()
"""The board of this process."""
