"""Stage: the columns of a database that questions are made from, with some of their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.rows import Drafts, Origin
from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.kinds import ColumnProfile, apply_profiles
from tasks.databases.reflection import reflect
from tasks.databases.values import Value
from tasks.errors import BadInput
from tasks.longform.build.sql import quote, read_column
from tasks.longform.entries import SourceDatabase

KEPT = 12
"""Values kept of a column."""
VOCABULARY = 60
"""Maximum number of distinct values of a vocabulary, such as genres; others are names, amounts, dates."""


@dataclass(frozen=True)
class SourceColumn:
    """Stage source_columns: a column of a database that questions are made from, with some of its values."""

    id: str
    column: Column
    vocabulary: bool
    """Whether it has so few distinct values that `values` may stand for all."""
    values: tuple[str, ...]
    """Distinct values as JSON, the commonest first for a vocabulary, else spread over their order."""
    origin: tuple[Origin, ...]


def source_columns(entry: SourceDatabase, columns: list[ColumnProfile]) -> Drafts[SourceColumn]:
    """Read a database's schema and, of each column that has any, up to KEPT distinct values.

    columns: the profiles, by which a column's type is what its cells are. Values are as queries read them.
    Raises BadInput if the file is not a database, or has no table.
    """
    file = entry.file
    schema = [_free_key(column) for column in apply_profiles(reflect(file), columns)]
    if not schema:
        raise BadInput(file, "has no tables", hint="name a SQLite file with tables in longform.databases")
    with SafeDatabase(file) as database:
        return Drafts([_read_column(column, file, database) for column in schema])


def _free_key(column: Column) -> Column:
    """Read keys as they are, since rows are joined by their cells; what has a reading may have no value."""
    if column.primary_key or column.references:
        return replace(column, reading="", form="")
    return replace(column, nullable=True) if column.reading else column


def _read_column(column: Column, file: Path, database: SafeDatabase) -> SourceColumn:
    name, table = read_column(column), quote(column.table)
    common = database.query(
        f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL GROUP BY {name} "  # noqa: S608 (quoted names)
        f"ORDER BY COUNT(*) DESC, {name} LIMIT {VOCABULARY + 1}"
    ).rows
    vocabulary = len(common) <= VOCABULARY
    if vocabulary:
        values: Sequence[Value] = [value for (value,) in common[:KEPT]]
    else:
        values = _spread(column, database)
    return SourceColumn(
        id=column.id,
        column=column,
        vocabulary=vocabulary,
        values=tuple(json.dumps(value, ensure_ascii=False) for value in values),
        origin=(Origin("file", file.name),),
    )


def _spread(column: Column, database: SafeDatabase) -> list[Value]:
    """Pick values at equal distances in the order of all rows, so that they are as the column's are."""
    name, table = read_column(column), quote(column.table)
    ((count,),) = database.query(f"SELECT COUNT({name}) FROM {table}").rows  # noqa: S608 (quoted names)
    places = dict.fromkeys(int(int(count or 0) * (part + 0.5) / KEPT) for part in range(KEPT))
    picked = [
        database.query(
            f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL "  # noqa: S608 (quoted names)
            f"ORDER BY {name} LIMIT 1 OFFSET {place}"
        ).rows[0][0]
        for place in places
    ]
    return list(dict.fromkeys(picked))
