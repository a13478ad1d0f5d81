"""Limit a process's memory, and its CPU time between two signs of progress, by the operating system.

Standard library only, as tasks/databases/frames.py.
"""

from __future__ import annotations

import contextlib
import math
import resource
from pathlib import Path

STEP_S = 10.0
"""CPU seconds that an import may take between two records that it keeps."""
MARGIN_S = 2
UNLIMITED = resource.RLIM_INFINITY


def limit_cpu(seconds: float) -> None:
    """Limit the CPU time from now on, in seconds: the process must not outlive a killed parent."""
    _set_soft(resource.RLIMIT_CPU, math.ceil(_count_cpu() + seconds) + MARGIN_S)


def limit_import(memory: int, seconds: float) -> None:
    """Limit this process and its children. memory: bytes of all that it holds, its libraries too."""
    # The pages of libraries are no data, and cannot be limited: they are measured instead.
    _set_soft(resource.RLIMIT_DATA, max(memory - _measure_libraries(), memory // 2))
    _set_soft(resource.RLIMIT_CORE, 0)
    limit_cpu(seconds)


def go_on() -> None:
    """Say that a record was kept: the time for the next one begins. Does nothing where there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != UNLIMITED and _count_cpu() + STEP_S > soft:
        limit_cpu(STEP_S)


def lift_limits() -> None:
    """End the limits that children would inherit: servers outlive an import, and clusters have their own."""
    for what in (resource.RLIMIT_DATA, resource.RLIMIT_CPU):
        _set_soft(what, UNLIMITED)


def _count_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _measure_libraries() -> int:
    """Measure what a process holds of files, in bytes; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[2]) * resource.getpagesize()
    return 0


def _set_soft(what: int, limit: int) -> None:
    # Where a system lacks a limit, or a user has set a lower one, that one remains.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
