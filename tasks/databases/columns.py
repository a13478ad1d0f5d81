"""A database schema as rows: one per column, with generic types, sorted by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column of one table. It never contains a value of a cell."""

    id: str
    """`table.column`"""
    table: str
    name: str
    type: str
    """text, integer, real, date, boolean or other: the same on every engine."""
    nullable: bool
    primary_key: bool
    references: str | None
    """`table.column` that a foreign key points to."""
    descriptive: bool
    """Whether people would ask about it: no surrogate key, no foreign key, no bare identifier."""
