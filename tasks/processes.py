"""Identify processes across runs by process id and start time, since ids are reused."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil


def read_start(pid: int) -> float:
    """Return when a process started, in seconds since the machine did. Raises psutil.NoSuchProcess.

    The time of day would not do: another process computes another one after the clock has been set.
    """
    with suppress(OSError, IndexError, ValueError):  # no /proc, or the process has ended
        # The process's name stands in brackets and may hold spaces and brackets itself.
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        return int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return psutil.Process(pid).create_time()


def is_running(pid: int, started: float) -> bool:
    """Return whether a process still runs, and is not a later one with the same id.

    started: what `read_start` returned for it.
    """
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(read_start(pid) - started) < 1.0
    except psutil.NoSuchProcess:
        return False


def list_words(pid: int) -> list[str]:
    """List the words of a process's command line; none where they cannot be read."""
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []
