"""Run the steps of `benchloom new`. Each step is a command of the new project, run by the project's code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchloom
from benchloom.yaml_files import load_yaml
from tasks.models.stream_board import format_time

LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); from benchloom.launcher import main; main()"
PREVIEW = "data/.preview"


@dataclass(frozen=True)
class NewOptions:
    """Options of `benchloom new`, including the source: a database, or a table of questions and answers."""

    database: str | None = None
    """A SQLite file, or a SQLAlchemy URL without its password."""
    questions: Path | None = None
    """A table of questions and answers in the format of docs/qa.md."""
    model: str | None = None
    endpoint: str | None = None
    key_env: str | None = None
    served_model: str | None = None
    password_env: str | None = None
    input_price: float | None = None
    output_price: float | None = None
    limit: int = 20
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of an item -> the column of `questions` that contains it."""


class StepFailed(Exception):
    """A command of the new project failed, and has printed its error. code: the command's exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class NewProject:
    """A new project, with the name of its database or table of questions, and the name of its model.

    `embedded`: whether the model runs locally.
    """

    folder: Path
    entry: str
    model: str
    embedded: bool

    def call(self, *words: str) -> None:
        """Run a project command and send its output to stderr. Raises StepFailed if the command fails."""
        self._run(words, sys.stderr.fileno())

    def ask(self, *words: str) -> Any:
        """Run a project command; return the JSON document that the command prints.

        Raises StepFailed if the command fails.
        """
        return json.loads(self._run((*words, "--json"), subprocess.PIPE))

    def is_lacking(self) -> bool:
        """Return whether any file of the embedded model is missing on this machine."""
        from tasks.models.serving.fetching import has_files
        from tasks.models.settings import EmbeddedModel

        if not self.embedded:
            return False
        fields = load_yaml(self.folder / "params.yaml")["models"][self.model]
        return not has_files(EmbeddedModel.model_validate(fields))

    def _run(self, words: Sequence[str], out: int) -> str:
        source = str(Path(benchloom.__file__).resolve().parents[1])
        done = subprocess.run(  # noqa: S603 - our own launcher
            [sys.executable, "-P", "-c", LAUNCH, source, *words],
            cwd=self.folder, stdout=out, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise StepFailed(done.returncode)
        return done.stdout or ""


def describe_cost(plan: Mapping[str, Any], *, free: bool) -> str:
    """Format a plan's calls, tokens, dollars and time as text. `free`: the model is free of charge."""
    parts = [
        f"{show(plan['calls'])} calls",
        f"{show(plan['tokens'])} tokens",
        f"${show(plan['usd'], 2)}"
        + ("" if free or plan["usd"]["high"] else " (set the price with --input-price and --output-price)"),
    ]
    if plan["seconds"] is not None:
        low, high = (plan["seconds"][end] for end in ("low", "high"))
        parts.append(format_time(low) if high is None else f"{format_time(low)} to {format_time(high)}")
    parts += plan["measured"]
    return ", ".join(parts)


def show(span: Mapping[str, Any], digits: int = 0) -> str:
    """Format a range as text; `at least` precedes the lower bound if the upper bound is unknown."""
    low, high = (None if end is None else f"{end:,.{digits}f}" for end in (span["low"], span["high"]))
    return f"at least {low}" if high is None else str(low) if low == high else f"{low} to {high}"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read an artifact's rows; return an empty list if the artifact is missing."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist() if path.is_file() else []
    return rows
