"""An answer table: its columns, rows and cells, and its text as `a|b` lines (section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ENTITY = "entity"


@dataclass(frozen=True)
class FinalColumn:
    """A column of an answer table. header: with its unit, `area (km²)`; kind: of its values."""

    relation: str
    header: str
    kind: str
    unit: str


@dataclass(frozen=True)
class FinalCell:
    """Values as shown, and the facts that they stand on; a made value may stand on several."""

    values: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class FinalRow:
    """A row of the answer list; one that fails a filter is not in the answer table."""

    entity: str
    label: str
    filter_pass: bool
    cells: tuple[FinalCell, ...]


def write_answer(columns: Sequence[FinalColumn], rows: Iterable[FinalRow]) -> str:
    """Write the rows that pass; the values of a cell are joined by `, `."""
    lines = [[ENTITY, *(column.header for column in columns)]]
    lines += [[row.label, *(", ".join(cell.values) for cell in row.cells)] for row in rows if row.filter_pass]
    return "\n".join("|".join(map(clean_cell, line)) for line in lines)


def clean_cell(text: str) -> str:
    """Write a cell on one line without the sign that parts cells."""
    return " ".join(text.replace("|", " ").split())
