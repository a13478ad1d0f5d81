"""The settings of a closed-domain variant: `closed: {<name>: {file, documents, columns}}` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Origin
from tasks.settings import Settings


class ClosedVariant(Settings):
    """The settings of a database copy with fictitious names (GRAMMAR, section 5 and appendix G.2)."""

    file: Path
    """The original SQLite file, relative to the project's folder."""
    documents: Path
    """The file of documents about the original database. The same names are replaced in the documents."""
    columns: Mapping[str, str] = Field(min_length=1)
    """The kind of entity (person, company, town, film) in each name column, by `table.column`."""
    texts: tuple[str, ...] = ()
    """The columns of running text in which names are replaced, as `table.column`."""
    seed: int = 0
    """The seed for the fictitious names."""
    offered: int = Field(default=0, ge=0, le=20)
    """The number of generated names (Faker) from which the model chooses each fictitious name. With 0, the
    model invents the names, which small models do badly."""
    tries: int = Field(default=6, ge=1)
    """The maximum number of candidates for a name.

    If all candidates are rejected, a generic name such as Company 17 is used.
    """
    sure: float = Field(default=0.85, ge=0, le=1)
    """The maximum probability that the reader model recognises a name.

    A name with a higher probability is rejected. If the endpoint returns no probabilities, the reader model's
    yes or no decides.
    """


@dataclass(frozen=True)
class Renaming:
    """A name in one column, and the new name in the variant."""

    id: str
    table: str
    column: str
    kind: str
    old: str
    new: str
    generic: bool
    """Whether the new name is generic, because the model produced no valid name."""
    origin: tuple[Origin, ...]
