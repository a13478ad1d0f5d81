"""Benchmark `benchloom status` on the fresh sample with cached row counts: under 1 s of CPU time."""

from __future__ import annotations

import resource
import sys

from bench.measure import time_command

ROUNDS = 7


def main() -> None:
    """Print the minimum CPU time of several calls, since other processes only increase it."""
    command = [sys.executable, "-m", "benchloom", "status"]
    time_command(command)
    seconds = min(measure_cpu(command) for _ in range(ROUNDS))
    print(f"status: benchloom status on the sample {seconds:.2f} s of CPU (bound 1)")


def measure_cpu(command: list[str]) -> float:
    """Run a command once; return its CPU seconds (user and system)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    time_command(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
