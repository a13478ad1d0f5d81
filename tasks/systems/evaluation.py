"""`benchloom evaluate`: its options, and a user's dataset as it is read for the stages of a flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
KEY, SYSTEM = "${key}", "${system}"
"""Placeholders in a declared entry: the evaluation's key, and the name of the system under test."""


@dataclass(frozen=True)
class EvaluationOptions:
    """The command's options. Paths are absolute, since the working directory need not be the project's."""

    dataset: Path
    system: str
    documents: Path | None = None
    limit: int | None = None
    as_of: str = ""
    out: Path | None = None
    turns: int | None = None
    """ragcheck: also run conversations, of at most this many turns."""
    language: str = ""
    """ragcheck: the language of the questions."""
    answers: Path | None = None
    """A file of the system's answers, which is then not asked."""
    by_model: bool = False
    """Whether `system` is the name of a model, which answers alone."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """qa: part of an item -> the column of the table that holds it."""
    score: str = ""
    """qa: what scores the answers: `rules`, `judge` or `both`."""
    judge: str = ""
    """qa: the model that judges, in place of the one of the role `judge`."""
    endpoint: str = ""
    """The address of the models that are named by options, where params.yaml has none."""
    key_env: str = ""
    """The NAME of the environment variable with the key of that address."""


class ReadSection(Protocol):
    """Reads one section of params.yaml."""

    def __call__(self, key: str, model: type[Model]) -> Model:
        """Read the section of a dotted key (`judging.thresholds`) as a model. Raises BadInput."""
        ...


@dataclass(frozen=True)
class OwnDataset:
    """A user's dataset, read and checked before any call is made.

    problems: one line per row that cannot be asked, each of which counts as a failure; notes: further remarks
    for the user.
    """

    key: str
    """The evaluation's id, a hash of all that determines it, and the key of its entries (`${key}`)."""
    entries: Mapping[str, Mapping[str, object]]
    """Section of params.yaml -> the entry that the stages run for."""
    artifacts: Mapping[str, tuple[type, Sequence[object]]]
    """The stages' inputs that no stage makes: argument's name -> row type and rows."""
    stages: tuple[str, ...]
    """The stages to run, in order."""
    problems: Sequence[str]
    notes: Sequence[str] = ()
    about: Mapping[str, object] = field(default_factory=dict)
    """Further fields of figures.json, specific to the flow."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters overridden for this evaluation: dotted name -> value."""
    kept: tuple[str, ...] = ("items",)
    """Names of `artifacts` that are written beside the answers."""
