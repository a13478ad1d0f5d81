"""A closed-domain variant as params.yaml wishes it: `closed: {<name>: {file, documents, columns}}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Origin


class Closed(BaseModel):
    """One variant: which names of a database become fictitious (GRAMMAR, section 5, appendix G.2)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path
    """The SQLite file that it is made from; paths are relative to the project."""
    documents: Path
    """The documents that were written of it: the same names change in them."""
    columns: Mapping[str, str] = Field(min_length=1)
    """`table.column` -> what its values name, in a word or two: person, company, town, film."""
    texts: tuple[str, ...] = ()
    """Columns of running text, in which the names are changed where they are mentioned."""
    seed: int = 0
    tries: int = Field(default=6, ge=1)
    """How often a name is asked for before a generic one is given: Company 17."""
    sure: float = Field(default=0.85, ge=0, le=1)
    """The judge's share of yes beyond which a name is one that it knows; without probabilities, its word."""


@dataclass(frozen=True)
class Renaming:
    """One value of one column, and what it is called in the variant."""

    id: str
    table: str
    column: str
    kind: str
    old: str
    new: str
    generic: bool
    """Whether the name was made by code, since the model found none that is nobody's."""
    origin: tuple[Origin, ...]
