"""Set operating-system limits on a process's memory, and on its CPU time between two progress reports.

This module imports only the standard library, like tasks/databases/frames.py.
"""

from __future__ import annotations

import contextlib
import math
import resource
from pathlib import Path

STEP_S = 10.0
"""Maximum CPU seconds of an import between two imported records."""
# A reader's own time limit must apply first, since the CPU limit ends a process without an error message.
MARGIN_S = 2
UNLIMITED = resource.RLIM_INFINITY


def limit_cpu(seconds: float) -> None:
    """Limit the remaining CPU seconds of this process, so that it ends even if its parent was killed."""
    _set_soft(resource.RLIMIT_CPU, math.ceil(_count_cpu() + seconds) + MARGIN_S)


def limit_import(memory: int, seconds: float) -> None:
    """Limit the memory and CPU time of this process and its children.

    `memory`: limit in bytes, including loaded libraries. `seconds`: CPU seconds until the first `go_on` call.
    """
    # RLIMIT_DATA does not cover the memory pages of libraries, so their size is measured and subtracted.
    _set_soft(resource.RLIMIT_DATA, max(memory - _measure_libraries(), memory // 2))
    _set_soft(resource.RLIMIT_CORE, 0)
    limit_cpu(seconds)


def go_on() -> None:
    """Report that a record was imported, and allow at least `STEP_S` more seconds of CPU time.

    Does nothing if no limit is set.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != UNLIMITED and _count_cpu() + STEP_S > soft:
        limit_cpu(STEP_S)


def lift_limits() -> None:
    """Remove the memory and CPU limits.

    Otherwise, child processes that outlive an import would inherit the limits.
    """
    for what in (resource.RLIMIT_DATA, resource.RLIMIT_CPU):
        _set_soft(what, UNLIMITED)


def _count_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _measure_libraries() -> int:
    """Return the size in bytes of file-backed pages in memory (libraries); 0 if the size cannot be read."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[2]) * resource.getpagesize()
    return 0


def _set_soft(what: int, limit: int) -> None:
    # Ignore errors: the system may not support a limit, or the user may have set a lower limit.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
