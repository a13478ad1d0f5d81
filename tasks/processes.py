"""Identify processes by process id and start time, since operating systems reuse ids."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil


def read_start(pid: int) -> float:
    """Return when a process started, in seconds after the machine booted. Raises psutil.NoSuchProcess.

    Wall-clock times are unsuitable: after a clock change, two readers get different times for one process.
    Without `/proc`, the result is psutil's creation time instead, in seconds since the epoch.
    """
    with suppress(OSError, IndexError, ValueError):  # no /proc, or the process has ended
        # The process's name is in brackets, and may also contain spaces and brackets.
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        return int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of the file, `starttime`, in clock ticks
    return psutil.Process(pid).create_time()


def is_running(pid: int, started: float) -> bool:
    """Return whether a process is still running, and its id has not been reused.

    `started`: the value that `read_start` returned for the process.
    """
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(read_start(pid) - started) < 1.0
    except psutil.NoSuchProcess:
        return False


def list_words(pid: int) -> list[str]:
    """List the arguments of a process's command line; return an empty list if they cannot be read."""
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []
