"""The interface of hooks, user code that runs after each stage and after each run.

A new hook is one subclass, named like its file in flows/hooks/, or an entry point of the group
`benchloom.hooks`; `run.hooks` in params.yaml turns it on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from flows.run.outcomes import State
from tasks.settings import Settings


@dataclass(frozen=True)
class Output:
    """A file or folder that a stage left. path: relative to the project."""

    path: str
    md5: str
    """As dvc.lock has it; a folder's ends with `.dir`."""
    bytes: int | None


@dataclass(frozen=True)
class StageEnd:
    """The result of a stage for hooks."""

    stage: str
    """As `benchloom status` names it: `grammar-scores@films-good`."""
    flow: str
    """Empty for a stage of your own in dvc.yaml."""
    section: str
    """Of params.yaml, whose entry it ran for: `assessments`; empty where it runs once."""
    entry: str
    """`films-good`; empty where it runs once."""
    state: State
    """`fresh` stands in `RunEnd.stages` alone: nothing was done, and no counts are known."""
    error: str = ""
    seconds: float = 0.0
    rows_in: int | None = None
    rows_out: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason -> rows."""
    calls: int = 0
    """All model calls that its artifact stands on; calls_live: those that were asked now."""
    calls_live: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Both of all calls, and so is usd; paid_tokens, paid_usd: of those that were asked now."""
    usd: float = 0.0
    paid_tokens: int = 0
    paid_usd: float = 0.0
    params: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that it depends on, by dotted name."""
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of a page: the figures that `dvc metrics show` has, as `grammar/films-good/r` -> `value`, and where
    there are any `low`, `high` (of the 95% interval), `n`, `failed`."""
    outputs: tuple[Output, ...] = ()
    """Nothing where it failed or was skipped."""


@dataclass(frozen=True)
class RunEnd:
    """The result of a run for hooks. root: the project's folder."""

    root: Path
    title: str
    """What was asked for: `grammar`, `everything`, `night 2030-01-31`."""
    exit_code: int
    seconds: float
    replay: bool
    commit: str
    """Of the working tree, which may have changes beside it; empty without git."""
    paid_tokens: int
    paid_usd: float
    """By this run, replies that were lost included."""
    stages: tuple[StageEnd, ...]
    """All that the run came to, in the order of the graph."""


class Hook(Settings):
    """Called at ends; its fields are its options, from `run.hooks.<name>`.

    Calls come one at a time, in the order of the ends, in a thread of their own, so that a slow hook holds up
    no stage. A hook that raises is told of in one line and not called again in that run.
    """

    name: ClassVar[str]

    def prepare(self, root: Path) -> None:
        """Look whether it can work, before anything runs. Raises BadInput, which ends the run with 2."""

    def end_stage(self, end: StageEnd) -> None:
        """Take the end of a stage that was not fresh. One that is tried again ends twice."""

    def end_run(self, end: RunEnd) -> None:
        """Take the end of a run, also of one that failed or was stopped; not of one that was killed."""
