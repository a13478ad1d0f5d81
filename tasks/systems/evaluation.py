"""The options of `benchloom evaluate`, and a user's dataset in the form that a flow's stages read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
KEY, SYSTEM = "${key}", "${system}"
"""Placeholders in a declared params.yaml entry: the evaluation's key, and the name of the system under
test."""


@dataclass(frozen=True)
class EvaluationOptions:
    """The options of `benchloom evaluate`.

    Paths are absolute, because the working directory may differ from the project's folder.
    """

    dataset: Path
    system: str
    documents: Path | None = None
    limit: int | None = None
    as_of: str = ""
    out: Path | None = None
    turns: int | None = None
    """ragcheck: maximum number of turns per conversation; None means no conversations."""
    language: str = ""
    """ragcheck: the language of the questions."""
    answers: Path | None = None
    """A file with the system's answers; if set, the system is not called."""
    by_model: bool = False
    """Whether `system` is the name of a model that answers without retrieval."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """qa: item field -> column of the user's table."""
    score: str = ""
    """qa: the scoring method: `rules`, `judge` or `both`."""
    judge: str = ""
    """qa: the judge model; if empty, the model of the role `judge`."""
    endpoint: str = ""
    """The URL for models that are named in options and have no URL in params.yaml."""
    key_env: str = ""
    """The NAME of the environment variable that contains the API key for `endpoint`."""


class ReadSection(Protocol):
    """A function that reads a section of params.yaml."""

    def __call__(self, key: str, model: type[Model]) -> Model:
        """Return the section with a dotted key (`judging.thresholds`) as a pydantic model.

        Raises BadInput if the section is not valid.
        """
        ...


@dataclass(frozen=True)
class OwnDataset:
    """A user's dataset, read and checked before any call is made.

    `problems`: one line per unusable row, which counts as a failure. `notes`: other remarks for the user.
    """

    key: str
    """The evaluation's id, a hash of its inputs; also the key of its params.yaml entries (`${key}`)."""
    entries: Mapping[str, Mapping[str, object]]
    """Section of params.yaml -> the evaluation's entry in this section (field -> value)."""
    artifacts: Mapping[str, tuple[type, Sequence[object]]]
    """Inputs that no stage writes: argument name in stages -> (row type, rows)."""
    stages: tuple[str, ...]
    """The stages to run, in order."""
    problems: Sequence[str]
    notes: Sequence[str] = ()
    about: Mapping[str, object] = field(default_factory=dict)
    """Additional fields of figures.json, specific to the flow."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters that this evaluation overrides: dotted name -> value."""
    kept: tuple[str, ...] = ("items",)
    """Names of the `artifacts` that are also written to the output folder."""
