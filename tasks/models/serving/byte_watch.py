"""Say while a file is fetched how much of it is there, and how long the rest takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.models.stream_board import format_time

PAUSE_S = 5.0
MB = 1_000_000


@contextmanager
def watch_bytes(
    folder: Path, total: int, say: Callable[[str], None], pause_s: float = PAUSE_S
) -> Iterator[None]:
    """Say every `pause_s` seconds how many of `total` bytes lie in a folder, while the block runs.

    The time left follows from all that has come since the first byte, so that one pause does not shake it.
    """
    done = threading.Event()

    def work() -> None:
        begun, before = time.monotonic(), count_bytes(folder)
        while not done.wait(pause_s):
            there = min(count_bytes(folder), total)
            rate = (there - before) / (time.monotonic() - begun)
            left = f"{format_time((total - there) / rate)} left" if rate > 0 else "nothing has come yet"
            say(f"{there / MB:,.0f} of {total / MB:,.0f} MB, {max(rate, 0) / MB:,.1f} MB a second, {left}")

    thread = threading.Thread(target=work, name="bytes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def count_bytes(folder: Path) -> int:
    """Count the bytes of all files below a folder, which may come and go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
