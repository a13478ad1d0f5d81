"""Benchmark `run --plain` without stale stages against `dvc status`: at most 1.5 times."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.measure import compare_commands, time_command
from bench.overhead import RUN
from bench.project import make_project


def main() -> None:
    """Print the ratio of the times."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_project(root)
        time_command(RUN, root)
        ours, theirs = compare_commands(RUN, [sys.executable, "-m", "dvc", "status", "-q"], 5, root)
    print(
        f"no-op: run --plain {ours:.2f} s, dvc status {theirs:.2f} s, ratio {ours / theirs:.2f} (bound 1.5)"
    )


if __name__ == "__main__":
    main()
