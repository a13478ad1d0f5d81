"""The options of `benchloom evaluate`, and the schema of a user's dataset for the stages of a flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
KEY, SYSTEM = "${key}", "${system}"
"""Placeholders in a declared entry: the key of the evaluation, and the name of the system under test."""


@dataclass(frozen=True)
class EvaluationOptions:
    """The options of the command.

    Paths are absolute, because the working directory may not be the project's.
    """

    dataset: Path
    system: str
    documents: Path | None = None
    limit: int | None = None
    as_of: str = ""
    out: Path | None = None
    turns: int | None = None
    """ragcheck: also run conversations, with at most this many turns."""
    language: str = ""
    """ragcheck: the language of the questions."""
    answers: Path | None = None
    """A file with the system's answers; the system itself is then not asked."""
    by_model: bool = False
    """Whether `system` is the name of a model that answers without retrieval."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """qa: part of an item -> the column of the table that contains it."""
    score: str = ""
    """qa: the scoring method: `rules`, `judge` or `both`."""
    judge: str = ""
    """qa: the model that judges, instead of the model of the role `judge`."""
    endpoint: str = ""
    """The address of the models named by options, if params.yaml does not have it."""
    key_env: str = ""
    """The NAME of the environment variable with the key for that address."""


class ReadSection(Protocol):
    """Reads one section of params.yaml."""

    def __call__(self, key: str, model: type[Model]) -> Model:
        """Read the section of a dotted key (`judging.thresholds`) as a model.

        Raises BadInput if it is not valid.
        """
        ...


@dataclass(frozen=True)
class OwnDataset:
    """A user's dataset, read and checked before any call is made.

    problems: one line per row that cannot be asked, which counts as a failure. notes: further remarks for the
    user.
    """

    key: str
    """The evaluation's id: a hash of everything that determines it, and the key of its entries (`${key}`)."""
    entries: Mapping[str, Mapping[str, object]]
    """Section of params.yaml -> the entry for which the stages run."""
    artifacts: Mapping[str, tuple[type, Sequence[object]]]
    """Inputs of the stages that no stage writes: name of the argument -> row type and rows."""
    stages: tuple[str, ...]
    """The stages to run, in order."""
    problems: Sequence[str]
    notes: Sequence[str] = ()
    about: Mapping[str, object] = field(default_factory=dict)
    """Further fields of figures.json, specific to the flow."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters that this evaluation overrides: dotted name -> value."""
    kept: tuple[str, ...] = ("items",)
    """Names of the `artifacts` that are written beside the answers."""
