"""Helpers that run a project in this process, with a copy of the code."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.commands.run import make_run
from flows.run.record.recorder import Recorder
from flows.run.runner import Run, run_plain
from flows.run.selection import order_nodes, select_nodes
from flows.settings import load_params

ROOT = Path(__file__).parents[2]


def copy_code(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the code into a project, and make the runner treat the copy as the running code."""
    # The stages run in this process, whose code equals the copy.
    for place in ("recorder", "code_watch"):
        monkeypatch.setattr(f"flows.run.record.{place}.check_code", lambda root: None)
    shutil.copytree(ROOT / "tasks", root / "tasks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root / "pyproject.toml")


def open_run(root: Path, **options: Any) -> Run:
    """Open a run of a project like the command line."""
    run = make_run(root, Recorder(root), load_params(root), **options)
    run.say = lambda line: None
    return run


def finish_run(run: Run, targets: Sequence[str] = (), workers: int = 2) -> Run:
    """Run the stages that targets need (by default all), and close the run."""
    nodes = run.recorder.nodes
    try:
        run_plain(run, select_nodes(nodes, [*targets]) if targets else order_nodes(nodes), workers)
    finally:
        run.finish()
        run.recorder.close()
    return run


def list_states(run: Run) -> dict[str, str]:
    """Return the final state of each stage; assert that the run had no error."""
    assert not run.errors, run.errors
    return {name: outcome.state for name, outcome in run.outcomes.items()}
