"""Says on stderr, every so often, how far a run's model calls are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from tasks.models.progress import Progress

PAUSE_S, LOGGED_PAUSE_S = 5.0, 30.0
"""At a terminal somebody waits; a log is read afterwards."""


def say_line(line: str) -> None:
    """Write one line to stderr in one go: `print` writes its end apart, and stages' lines would mix."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class Reporter:
    """Says a line while calls are waited for, and nothing while there are none."""

    def __init__(
        self,
        look: Callable[[], Progress],
        say: Callable[[str], None] = say_line,
        pause_s: float | None = None,
    ) -> None:
        self._look, self._say = look, say
        self._pause_s = pause_s or (PAUSE_S if sys.stderr.isatty() else LOGGED_PAUSE_S)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Say no more."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopping.wait(self._pause_s):
            progress = self._look()
            if progress.waiting:
                self._say(progress.describe())
