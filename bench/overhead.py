"""Benchmark the overhead of `run --plain` per stage: at most 0.2 s.

The reference is a shell that runs the same commands in sequence.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import yaml

from bench.measure import time_command
from bench.project import STAGES, make_project

RUN = [sys.executable, "-m", "flows.cli", "run", "--plain"]


def main() -> None:
    """Print the overhead per stage of Benchloom and, for comparison, of DVC."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "ours"), Path(folder, "theirs")
        for root in (ours, theirs):
            root.mkdir()
            make_project(root)
        commands = [
            stage["cmd"] for stage in yaml.safe_load((ours / "dvc.yaml").read_text())["stages"].values()
        ]
        work = time_command(["sh", "-c", "\n".join(commands)], theirs)
        for command in Path(theirs).glob("out*.txt"):
            command.unlink()
        run = time_command(RUN, ours)
        repro = time_command([sys.executable, "-m", "dvc", "repro", "-q"], theirs)
    print(
        f"overhead: {STAGES} stages, work alone {work:.1f} s, run --plain {run:.1f} s, "
        f"dvc repro {repro:.1f} s: "
        f"{(run - work) / STAGES:.3f} s a stage (bound 0.2), dvc repro {(repro - work) / STAGES:.3f} s"
    )


if __name__ == "__main__":
    main()
