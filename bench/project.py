"""Create a project of 60 stages with 30 dependencies each, to measure the overhead of a run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml
from dvc.repo import Repo

STAGES, DEPENDENCIES = 60, 30
PAUSE_S = 0.05


def make_project(root: Path) -> None:
    """Create the project: a chain of six ranks of ten stages; each stage sleeps and writes one file."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    Repo.init(str(root)).close()
    for number in range(DEPENDENCIES):
        (root / f"input{number}.txt").write_text(f"{number}\n")
    stages = {}
    for number in range(STAGES):
        upstream = [f"out{number - 10}.txt"] if number >= 10 else []
        inputs = [f"input{index}.txt" for index in range(DEPENDENCIES - len(upstream))]
        stages[f"stage{number:02d}"] = {
            "cmd": f"sleep {PAUSE_S} && echo {number} > out{number}.txt",
            "deps": [*inputs, *upstream],
            "outs": [f"out{number}.txt"],
        }
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    (root / "params.yaml").write_text("run: {workers: 1}\n")
