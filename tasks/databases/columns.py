"""A database schema as rows: one a column, generic types, sorted names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column of one table. No value of any cell is ever part of it."""

    id: str
    """`table.column`"""
    table: str
    name: str
    type: str
    """text, integer, real, date, boolean or other: the same on every engine."""
    nullable: bool
    primary_key: bool
    references: str | None
    """`table.column` that a foreign key points at."""
    descriptive: bool
    """Whether a person would ask about it: no surrogate key, no foreign key, no bare identifier."""
