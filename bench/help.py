"""Benchmark `benchloom --help` against an empty Python process: at most 0.3 s more."""

from __future__ import annotations

import sys

from bench.measure import compare_commands


def main() -> None:
    """Print the time difference."""
    ours, empty = compare_commands(
        [sys.executable, "-m", "flows.cli", "--help"], [sys.executable, "-c", "pass"]
    )
    print(
        f"help: benchloom --help {ours:.3f} s, python -c pass {empty:.3f} s, "
        f"difference {ours - empty:.3f} s (bound 0.3)"
    )


if __name__ == "__main__":
    main()
