"""The base class of hooks (user code that runs after each stage and each run) and their arguments.

A new hook is one subclass, in `flows/hooks/NAME.py` or named by an entry point in the group
`benchloom.hooks`. `run.hooks` in params.yaml enables it.
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
    """A file or folder that a stage wrote. path: the path relative to the project."""

    path: str
    md5: str
    """The MD5 hash in dvc.lock; the hash of a folder ends with `.dir`."""
    bytes: int | None


@dataclass(frozen=True)
class StageEnd:
    """The result of a stage, as hooks receive it."""

    stage: str
    """The stage's name in `benchloom status`, such as `grammar-scores@films-good`."""
    flow: str
    """Name of the flow; empty for a stage that you added to dvc.yaml."""
    section: str
    """Section of params.yaml with the stage's entry, such as `assessments`; empty if the stage runs once."""
    entry: str
    """Key of the entry, such as `films-good`; empty if the stage runs once."""
    state: State
    """The stage's state.

    `fresh` occurs only in `RunEnd.stages`, for stages that did not run and have no counts.
    """
    error: str = ""
    seconds: float = 0.0
    rows_in: int | None = None
    rows_out: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason -> number of dropped rows."""
    calls: int = 0
    """Number of model calls whose answers the artifact uses, including answers from the ledger.

    `calls_live` counts only the calls made in this run.
    """
    calls_live: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Number of completion tokens. Token counts and `usd` (US dollars) cover the same calls as `calls`.

    `paid_tokens` and `paid_usd` cover only this run's calls.
    """
    usd: float = 0.0
    paid_tokens: int = 0
    paid_usd: float = 0.0
    params: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that the stage depends on, by dotted name."""
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Metrics of the page that the stage writes, as in `dvc metrics show`: name -> numbers.

    An example of a name is `grammar/films-good/r`. The numbers are `value` and, if known, `low` and `high`
    (of the 95% interval), `n` and `failed`.
    """
    outputs: tuple[Output, ...] = ()
    """Files and folders that the stage wrote; empty if the stage failed or was skipped."""


@dataclass(frozen=True)
class RunEnd:
    """The result of a run, as hooks receive it. root: the project's folder."""

    root: Path
    title: str
    """The target of the run, such as `grammar`, `everything` or `night 2030-01-31`."""
    exit_code: int
    seconds: float
    replay: bool
    commit: str
    """The commit of the working tree, which may also have uncommitted changes; empty without git."""
    paid_tokens: int
    paid_usd: float
    """Price of this run's calls in US dollars, including calls whose replies were lost."""
    stages: tuple[StageEnd, ...]
    """The stages of the run, in the order of the graph."""


class Hook(Settings):
    """Base class of hooks, called after stages and runs. A hook's fields are its options in `run.hooks`.

    Hooks are called in a separate thread, one call at a time, in the order in which stages end. A slow hook
    thus does not delay stages. If a hook raises an error, one line reports the error, and the hook is not
    called again in that run.
    """

    name: ClassVar[str]

    def prepare(self, root: Path) -> None:
        """Check that the hook can work, before any stage runs.

        Raises BadInput, which ends the run with exit code 2.
        """

    def end_stage(self, end: StageEnd) -> None:
        """Handle the end of a stage that was not fresh.

        If a stage is retried, this method is called twice for the stage.
        """

    def end_run(self, end: RunEnd) -> None:
        """Handle the end of a run, even if it failed or was stopped, but not if it was killed."""
