"""Describe an item's database for a prompt: the schema, and sample rows of every table.

Section 4.1 of the paper introduces this description.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from tasks.databases.scratch.scratch import write_database
from tasks.databases.values import Value, to_plain_row

SAMPLES = 3
"""Number of sample rows per table in a description, as in the paper (appendix A)."""
CELL = 60
"""Maximum number of characters in a cell; records that are shown in full have no such limit."""
ELLIPSIS = "..."


@dataclass(frozen=True)
class DescribedTable:
    """A table: its original CREATE statement, and all its rows in insertion order."""

    name: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @property
    def create(self) -> str:
        """The CREATE statement on one line, for prompts.

        The line is not executable if the statement has a `--` comment.
        """
        return " ".join(self.sql.split())


@dataclass(frozen=True)
class Database:
    """An item's database. file: the SQLite file. tables: the tables in creation order."""

    file: Path
    tables: tuple[DescribedTable, ...]


def read_database(file: Path) -> Database:
    """Read the tables of a small SQLite file with all their rows; views are not included."""
    # With `immutable`, SQLite takes no locks and creates no files beside the database.
    address = f"file:{quote(str(file.resolve()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        # By default, the module sqlite3 fails on a text that is not UTF-8.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        named = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
            "ESCAPE '\\' ORDER BY rowid"
        ).fetchall()
        return Database(file, tuple(_read_table(connection, name, sql) for name, sql in named))


def _read_table(connection: sqlite3.Connection, name: str, sql: str) -> DescribedTable:
    escaped = name.replace('"', '""')
    # Without NOT INDEXED, SQLite may return the rows in the order of an index that covers all columns.
    rows = connection.execute(f'SELECT * FROM "{escaped}" NOT INDEXED')  # noqa: S608 (a quoted name)
    columns = tuple(column for column, *_ in rows.description)
    return DescribedTable(name, sql, columns, tuple(tuple(to_plain_row(row)) for row in rows))


@lru_cache(maxsize=256)
def read_script(script: str) -> Database:
    """Build the database from an item's script, and read its tables. Raises BadInput if the script fails."""
    with TemporaryDirectory(prefix="benchloom-item-") as folder:
        file = Path(folder) / "item.sqlite"
        write_database(script, file)
        return read_database(file)


def describe_database(tables: Sequence[DescribedTable], samples: Mapping[str, int] | int = SAMPLES) -> str:
    """Describe tables: for each table its CREATE statement, and its first rows as JSON lists, one per line.

    samples: the number of rows, for every table or by table name. Quote the text in a prompt, because cells
    are untrusted data.
    """
    return "\n".join(
        line
        for table in tables
        for line in _describe_table(
            table, samples if isinstance(samples, int) else samples.get(table.name, SAMPLES)
        )
    )


def _describe_table(table: DescribedTable, samples: int) -> list[str]:
    lines = [f"{table.create};"]
    if samples and table.rows:
        shown = table.rows[:samples]
        lines += [f"-- {len(shown)} sample rows of {table.name}:", *map(show_row, shown)]
    return lines


def describe_records(tables: Sequence[DescribedTable]) -> str:
    """Describe tables with all their rows; cells are not truncated."""
    return "\n".join(
        line
        for table in tables
        for line in (
            f"{table.create};",
            f"-- all {len(table.rows)} rows of {table.name}:",
            *(json.dumps(row, ensure_ascii=False) for row in table.rows),
        )
    )


def show_row(row: Sequence[Value]) -> str:
    """Write a row as a JSON list, with long cells truncated."""
    return json.dumps(truncate_cells(row), ensure_ascii=False)


def truncate_cells(row: Sequence[Value]) -> list[Value]:
    """Truncate the texts of a row that are longer than `CELL` characters."""
    return [cell[:CELL] + ELLIPSIS if isinstance(cell, str) and len(cell) > CELL else cell for cell in row]
