"""An answer table as text: `a|b` lines, first header `entity` (section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.tanq.rows import FinalColumn, FinalRow

ENTITY = "entity"


def write_answer(columns: Sequence[FinalColumn], rows: Iterable[FinalRow]) -> str:
    """Write the rows that pass; the values of a cell are joined by `, `."""
    lines = [[ENTITY, *(column.header for column in columns)]]
    lines += [[row.label, *(", ".join(cell.values) for cell in row.cells)] for row in rows if row.filter_pass]
    return "\n".join("|".join(map(clean_cell, line)) for line in lines)


def clean_cell(text: str) -> str:
    """Write a cell on one line without the sign that parts cells."""
    return " ".join(text.replace("|", " ").split())
