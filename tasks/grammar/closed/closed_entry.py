"""Settings of a closed-domain variant: `closed: {<name>: {file, documents, columns}}` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Origin
from tasks.settings import Settings


class ClosedVariant(Settings):
    """One database whose names become fictitious (GRAMMAR, section 5, appendix G.2)."""

    file: Path
    """The original SQLite file; paths are relative to the project."""
    documents: Path
    """The documents about the original; the same names are replaced in them."""
    columns: Mapping[str, str] = Field(min_length=1)
    """`table.column` -> what its values name: person, company, town, film."""
    texts: tuple[str, ...] = ()
    """Columns of running text, in which mentioned names are replaced."""
    seed: int = 0
    """The seed of the fictitious names."""
    tries: int = Field(default=6, ge=1)
    """Maximum number of candidates for a name before a generic one is used: Company 17."""
    sure: float = Field(default=0.85, ge=0, le=1)
    """Maximum probability, by the judge, that it knows the name. Without probabilities, its yes or no
    decides."""


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
    """True if the new name was made by code, since the model produced no valid one."""
    origin: tuple[Origin, ...]
