"""Measure the time of commands, and describe the machine."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def describe_machine() -> str:
    """Return one line about the machine: cores, processor, memory, Python version."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return (
        f"machine: {os.cpu_count()} cores ({processor}), {memory:.0f} GiB, Python {platform.python_version()}"
    )


def time_command(
    command: Sequence[str], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> float:
    """Run a command once and return its wall time in seconds. Raises CalledProcessError if it fails."""
    begun = time.perf_counter()
    subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - begun


def compare_commands(
    a: Sequence[str], b: Sequence[str], rounds: int = 7, cwd: Path | None = None
) -> tuple[float, float]:
    """Run two commands alternately, after a warm-up run; return the median seconds of each command."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for command, kept in zip((a, b), times, strict=True):
            seconds = time_command(command, cwd)
            if turn:
                kept.append(seconds)
    return statistics.median(times[0]), statistics.median(times[1])
