"""Write reproducible SQLite files: the same rows give the same bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tasks.files import write_beside

Cell = str | int | float | None


def write_database(
    path: Path,
    schema: Sequence[str],
    tables: Mapping[str, Iterable[Sequence[Cell]]],
    indexes: Sequence[str] = (),
) -> int:
    """Write a SQLite file: create the tables, insert their rows in sorted order, and rename it into place.

    - `schema`: CREATE TABLE statements.
    - `indexes`: CREATE INDEX statements, which run last. If there are indexes, ANALYZE collects statistics on
      them, so that SQLite chooses the best index for a query.

    Returns the number of rows. With the same version of SQLite, the same rows give the same bytes. Raises
    sqlite3.IntegrityError if a key constraint is violated.
    """
    with write_beside(path) as draft, closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        # The default page size depends on how SQLite was built, and the same rows must give the same bytes.
        connection.execute("PRAGMA page_size = 4096")
        # The journal is in memory, so there is no journal file next to the draft: an interrupted draft is
        # deleted, never repaired.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("BEGIN")
        for statement in schema:
            connection.execute(statement)
        count = sum(_insert(connection, table, rows) for table, rows in tables.items())
        _check_references(connection)
        for statement in [*indexes, "ANALYZE"] if indexes else ():
            connection.execute(statement)
        connection.execute("COMMIT")
    return count


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[Cell]]) -> int:
    ordered = _sort(list(rows))
    if ordered:
        marks = ", ".join("?" * len(ordered[0]))
        # Callers pass constant table names, so SQL injection is not possible.
        connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', ordered)  # noqa: S608
    return len(ordered)


def _sort(rows: list[Any]) -> list[Any]:
    try:
        return sorted(rows)
    except TypeError:
        # Python cannot compare None with a value, so a flag sorts NULLs before all values.
        return sorted(rows, key=lambda row: [(cell is not None, cell) for cell in row])


def _check_references(connection: sqlite3.Connection) -> None:
    """Raise IntegrityError if a foreign key is violated; one check is much faster than one per row."""
    broken = connection.execute("PRAGMA foreign_key_check").fetchone()
    if broken:
        raise sqlite3.IntegrityError(f"a row of {broken[0]} refers to a missing row of {broken[2]}")
