"""Report the progress of a command at intervals on stderr: model calls, streams and other work."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tasks.lines import SAID, clean, say_line, say_raw
from tasks.models.sending.progress import Progress
from tasks.models.stream_board import BOARD
from tasks.models.work_board import WORK, WorkProgress

PAUSE_S, LOGGED_PAUSE_S = 5.0, 10.0
"""Seconds between two reports: at a terminal, where a user waits, and in a log."""
LOGGED_LINES = 40
"""Maximum number of lines per report in a log. At a terminal, the limit is the terminal's height."""
ERASE = "\x1b[{}A\x1b[J"
"""Escape sequence that moves the cursor up by a number of lines and clears the screen from there."""


MOST_WORKS = 10
"""Maximum number of tasks in one report."""
NAMED = 50
"""Maximum number of similar messages that are printed one by one."""


def tell_first(about: str, lines: Sequence[str]) -> None:
    """Print the first `NAMED` lines to stderr, then the number of omitted lines; `about` begins each line."""
    for line in lines[:NAMED]:
        say_line(f"benchloom: {about}{line}")
    if len(lines) > NAMED:
        say_line(f"benchloom: {about}and {len(lines) - NAMED} similar messages")


class Reporter:
    """Prints one line for all calls in flight, one line per stream, and one line per other task."""

    def __init__(
        self,
        look: Callable[[], Progress],
        say: Callable[[str], None] = say_raw,
        pause_s: float | None = None,
        *,
        terminal: bool | None = None,
    ) -> None:
        """Start reporting. `terminal`: whether each report replaces the last one; None checks stderr."""
        self._look, self._say = look, say
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._pause_s = pause_s or (PAUSE_S if self._terminal else LOGGED_PAUSE_S)
        self._drawn, self._said = 0, -1
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reporting."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopping.wait(self._pause_s):
            progress = self._look()
            size = shutil.get_terminal_size()
            lines = [progress.describe()] if progress.waiting else []
            most = size.lines - 2 if self._terminal else LOGGED_LINES
            lines += BOARD.describe(most - len(lines))
            # Most stages take less than a second. Without a minimum time, each report would list stages that
            # are about to end.
            room, least_s = min(MOST_WORKS, most - len(lines)), self._pause_s / 2
            lines += WORK.describe(room, alone=not lines, least_s=least_s)
            if lines:
                # A wrapped line would occupy two rows, but ERASE counts one row per line.
                self._draw([line[: size.columns - 1] for line in lines] if self._terminal else lines)

    def _draw(self, lines: Sequence[str]) -> None:
        # Other lines that were printed since the last block must not be erased.
        over = self._terminal and self._drawn and self._said == SAID.count
        self._say((ERASE.format(self._drawn) if over else "") + "\n".join(map(clean, lines)))
        self._drawn, self._said = len(lines), SAID.count


IDLE = Progress(0, 0, 0, 0.0, 0.0, 0)


@dataclass
class SharedReporter:
    """The reporter of this process: the first user starts the reporter, and the last user stops it."""

    looks: list[Callable[[], Progress]] = field(default_factory=list)
    users: int = 0
    reporter: Reporter | None = None
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> Progress:
        """Return the progress of the most recently opened session; `IDLE` if no session is open."""
        # A copy, because another thread may end its session meanwhile.
        looks = list(self.looks)
        return looks[-1]() if looks else IDLE


SHARED = SharedReporter()


@contextmanager
def report_progress(look: Callable[[], Progress] | None = None) -> Iterator[None]:
    """Report the progress of this process until the block ends.

    `look`: a function that returns a session's progress. BENCHLOOM_PROGRESS=off in the environment disables
    the reports.
    """
    if os.environ.get("BENCHLOOM_PROGRESS") == "off":
        yield
        return
    with SHARED.mutex:
        SHARED.users += 1
        if look is not None:
            SHARED.looks.append(look)
        SHARED.reporter = SHARED.reporter or Reporter(SHARED.look)
    try:
        yield
    finally:
        with SHARED.mutex:
            SHARED.users -= 1
            if look is not None:
                SHARED.looks.remove(look)
            ended = None if SHARED.users else SHARED.reporter
            SHARED.reporter = SHARED.reporter if SHARED.users else None
        if ended is not None:
            ended.stop()


@contextmanager
def follow_command(name: str) -> Iterator[None]:
    """Report the progress of a command, at least its elapsed time, until the block ends."""
    with report_progress(), WORK.follow(WorkProgress(f"benchloom {name}", quiet=True)):
        yield
