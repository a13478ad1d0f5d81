"""`benchloom evaluate`: a user's dataset and options, and the result of a paper's stages on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel

from tasks.errors import BadInput
from tasks.lineage.derivation import Derivation

Model = TypeVar("Model", bound=BaseModel)


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


def refuse_options(options: EvaluationOptions, why: str) -> None:
    """Raise BadInput for an option that is of flows with documents or conversations. why: not of this one."""
    for option, value in (
        ("--turns", options.turns),
        ("--language", options.language),
        ("--documents", options.documents),
    ):
        if value:
            raise BadInput(option, f"is of other flows: {why}")


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
    notes: Sequence[str]
    about: Mapping[str, object] = field(default_factory=dict)
    """Further fields of figures.json, specific to the flow."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters overridden for this evaluation: dotted name -> value."""
    kept: tuple[str, ...] = ("questions",)
    """Names of `artifacts` that are written beside the answers."""


@dataclass(frozen=True)
class Evaluated:
    """An evaluation's result. failures: one line for each row without an answer or a verdict.

    bases: JSON pointer of a plain number in `figures` -> the rows that it was computed from.
    """

    figures: Mapping[str, object]
    failures: Sequence[str]
    bases: Mapping[str, Derivation] = field(default_factory=dict)


def clean(text: str) -> str:
    """Replace control characters, which could drive a terminal, in a text from outside."""
    return "".join(character if character.isprintable() else " " for character in text)
