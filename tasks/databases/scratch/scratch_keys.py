"""Say which rows refer to a key that is not there."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from tasks.databases.scratch.scratch_create import quote_name
from tasks.databases.scratch.scratch_inserts import Row

SHOWN_ROWS = 2
SHOWN_KEYS = 5
Inserted = Mapping[tuple[str, int | None], Row]
"""Rows by table and rowid."""


def describe_broken_keys(connection: sqlite3.Connection, inserted: Inserted) -> str:
    """Describe the first rows whose foreign keys are broken, in one line; empty if there are none."""
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    lines = [_describe(connection, inserted, *found) for found in broken[:SHOWN_ROWS]]
    more = len(broken) - SHOWN_ROWS
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def list_primary(connection: sqlite3.Connection, table: str) -> list[str]:
    """List the columns of a table's primary key in its order."""
    rows = connection.execute(f"PRAGMA table_info({quote_name(table)})").fetchall()
    return [row[1] for row in sorted(rows, key=lambda row: int(row[5])) if row[5]]


def _describe(
    connection: sqlite3.Connection, inserted: Inserted, table: str, rowid: int | None, parent: str, key: int
) -> str:
    listed = connection.execute(f"PRAGMA foreign_key_list({quote_name(table)})").fetchall()
    names = [row[3] for row in listed if row[0] == key]
    # A key that names no columns refers to the primary one.
    theirs = [row[4] for row in listed if row[0] == key and row[4]] or list_primary(connection, parent)
    row = inserted.get((table, rowid))
    # A value that is neither written nor NULL is the number that SQLite gave the row.
    values = [row.values.get(name, str(rowid)) if row else "?" for name in names]
    own = " and ".join(f"{table}.{name} = {value[:40]}" for name, value in zip(names, values, strict=True))
    there = _list_keys(connection, parent, theirs)
    missing = f"but {parent} has no such {', '.join(theirs)}"
    return (
        f"{row.place if row else table}: {own}, {missing} ({f'it has {there}' if there else 'it is empty'})"
    )


def _list_keys(connection: sqlite3.Connection, table: str, names: list[str]) -> str:
    columns = ", ".join(map(quote_name, names))
    rows = connection.execute(
        f"SELECT DISTINCT {columns} FROM {quote_name(table)} ORDER BY 1 LIMIT {SHOWN_KEYS + 1}"  # noqa: S608 (quoted names)
    ).fetchall()
    shown = [repr(row[0]) if len(row) == 1 else repr(row) for row in rows[:SHOWN_KEYS]]
    return ", ".join(one[:40] for one in [*shown, "..."][: len(rows)])
