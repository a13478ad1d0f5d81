"""`benchloom evaluate`: what somebody brings, and what a paper makes of it by the stages of its own flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class EvaluationOptions:
    """What is evaluated. Paths are absolute: the command line's folder need not be the project's."""

    dataset: Path
    system: str
    documents: Path | None = None
    limit: int | None = None
    as_of: str = ""
    out: Path | None = None
    turns: int | None = None
    """ragcheck: also lead conversations, of so many turns at most."""
    language: str = ""
    """ragcheck: of the questions."""


class ReadSection(Protocol):
    """Reads and validates one section of params.yaml. Raises BadInput."""

    def __call__(self, key: str, model: type[Model]) -> Model:
        """key: dotted, as `judging.thresholds`."""
        ...


@dataclass(frozen=True)
class OwnDataset:
    """What somebody brings, read and checked before anybody is asked.

    problems: rows that cannot be asked, each of which counts as a failure; notes: what else there is to say.
    """

    key: str
    """Names the evaluation: a hash of all that determines it. Its entries stand under it, as `${key}`."""
    entries: Mapping[str, Mapping[str, Any]]
    """Section of params.yaml -> the entry that the stages run for."""
    artifacts: Mapping[str, tuple[type, Sequence[Any]]]
    """What the stages read and nobody made before: argument's name -> row type and rows."""
    stages: tuple[str, ...]
    """Which stages run, in order."""
    problems: Sequence[str]
    notes: Sequence[str]
    about: Mapping[str, Any] = field(default_factory=dict)
    """What figures.json says of it beyond what all flows have."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are different for this evaluation: dotted name -> value."""
    kept: tuple[str, ...] = ("questions",)
    """Those of `artifacts` that are written beside the answers."""


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation came to. failures: a line for each row without an answer or a verdict."""

    figures: Mapping[str, Any]
    failures: Sequence[str]


def clean(text: str) -> str:
    """Take out what moves a terminal's cursor: names and problems are not ours."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
