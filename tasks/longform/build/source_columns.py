"""Stage: read the columns of a source database, with some of their values."""

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
"""Maximum number of values per column that the stage stores."""
VOCABULARY = 60
"""A column with at most this many distinct values is a vocabulary, such as a list of genres.

Columns with more values contain names, amounts or dates.
"""


@dataclass(frozen=True)
class SourceColumn:
    """Row of the stage `source_columns`: a column of a source database, with some of its values."""

    id: str
    column: Column
    vocabulary: bool
    """Whether the column has at most `VOCABULARY` distinct values."""
    values: tuple[str, ...]
    """Up to `KEPT` distinct values as JSON.

    A vocabulary has its most common values here. Any other column has values from evenly spaced positions in
    sorted order.
    """
    origin: tuple[Origin, ...]


def source_columns(entry: SourceDatabase, columns: list[ColumnProfile]) -> Drafts[SourceColumn]:
    """Read a database's schema, and up to `KEPT` distinct values of each column.

    columns: the profiles, with the type of each column inferred from its cells. Values are converted in the
    same way as in queries. Raises BadInput if the file is not a database or has no tables.
    """
    file = entry.file
    schema = [_free_key(column) for column in apply_profiles(reflect(file), columns)]
    if not schema:
        raise BadInput(
            file, "has no tables", hint="in longform.databases, name a SQLite file that has tables"
        )
    with SafeDatabase(file) as database:
        return Drafts([_read_column(column, file, database) for column in schema])


def _free_key(column: Column) -> Column:
    """Return a key column without its conversion, because joins compare unconverted cells.

    Any other column with a conversion becomes nullable, because a cell may fail to convert.
    """
    if column.primary_key or column.references:
        return replace(column, reading="", form="")
    return replace(column, nullable=True) if column.reading else column


def _read_column(column: Column, file: Path, database: SafeDatabase) -> SourceColumn:
    name, table = read_column(column), quote(column.table)
    # One more value than `VOCABULARY` shows that the column is not a vocabulary.
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
    """Pick values at `KEPT` evenly spaced positions in the sorted column, and remove duplicates."""
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
