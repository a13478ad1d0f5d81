"""Define the settings of a closed-domain variant: `closed: {<name>: {file, documents, columns}}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Origin
from tasks.settings import Settings


class ClosedVariant(Settings):
    """A database whose names are replaced by fictitious names (GRAMMAR, section 5 and appendix G.2)."""

    file: Path
    """The original SQLite file, relative to the project's folder."""
    documents: Path
    """The documents about the original database, in which the same names are replaced."""
    columns: Mapping[str, str] = Field(min_length=1)
    """Map each `table.column` of names to the kind of entity that it names: person, company, town, film."""
    texts: tuple[str, ...] = ()
    """Columns of running text in which names are replaced, each as `table.column`."""
    seed: int = 0
    """The seed of the fictitious names."""
    offered: int = Field(default=0, ge=0, le=20)
    """The number of made-up names (Faker) among which the model chooses each fictitious name. With 0 the
    model invents the names, which a small model does badly."""
    tries: int = Field(default=6, ge=1)
    """The maximum number of candidates for a name.

    If all candidates are rejected, a generic name such as Company 17 is used.
    """
    sure: float = Field(default=0.85, ge=0, le=1)
    """A name is rejected if the reader knows it with a higher probability than this. If the endpoint returns
    no probabilities, the reader's yes or no decides."""


@dataclass(frozen=True)
class Renaming:
    """A value of one column, and its new name in the variant."""

    id: str
    table: str
    column: str
    kind: str
    old: str
    new: str
    generic: bool
    """True if code made the new name, because the model produced no valid name."""
    origin: tuple[Origin, ...]
