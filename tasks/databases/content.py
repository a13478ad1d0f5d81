"""Record the content of a database server, as row counts and hashes, in a small file that DVC can track.

Tables are streamed in one transaction. A table's hash is the sum of its rows' hashes: the sum does not depend
on the order of the rows, so the server need not sort them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, select, table
from sqlalchemy import column as sql_column
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.sql import quoted_name

from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry, name_cause
from tasks.databases.reflection import reflect_connection
from tasks.databases.values import to_plain_row
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.settings import Settings

BATCH = 5_000
"""Number of rows per fetch."""
MODULUS = 2**256
"""Row hashes are added modulo this number, so that the sum does not depend on the order of the rows."""
SESSION = {
    "postgresql": ("SET TIME ZONE 'UTC'", "SET TRANSACTION READ ONLY"),
    "mysql": ("SET time_zone = '+00:00'",),
    "mariadb": ("SET time_zone = '+00:00'",),
}
"""Engine -> statements that start a session in UTC, and make it read-only on PostgreSQL."""


class TableContent(Settings):
    """The content of one table. `sha256`: the sum of the SHA-256 hashes of its rows, modulo 2^256."""

    columns: dict[str, str]
    """Column name -> `type [not null] [key] [-> reference]`, from `describe_columns`."""
    rows: int
    sha256: str
    unread: Mapping[str, str] = {}
    """Name of each column that cannot be read -> the reason. The hash covers only the readable columns."""


class DatabaseContent(Settings):
    """The content of a whole database. Equal rows give equal records on every engine."""

    tables: dict[str, TableContent]

    def compare(self, other: DatabaseContent) -> list[str]:
        """Return the sorted names of the tables whose content differs between the two databases."""
        names = sorted({*self.tables, *other.tables})
        return [name for name in names if self.tables.get(name) != other.tables.get(name)]

    def count_rows(self) -> int:
        """Return the number of rows in all tables."""
        return sum(content.rows for content in self.tables.values())


def read_content(entry: DatabaseEntry) -> DatabaseContent:
    """Read every table once, in batches, from one consistent snapshot.

    Raises DatabaseGone if the server cannot be reached or stops answering, and BadInput if the database
    cannot be read.
    """
    engine = entry.connect()
    isolation = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name in SESSION else {}
    try:
        with engine.connect().execution_options(**isolation) as connection:
            for statement in SESSION.get(engine.dialect.name, ()):
                connection.exec_driver_sql(statement)
            columns = reflect_connection(connection)
            tables = {
                name: _read_table(connection, name, list(table_columns))
                for name, table_columns in groupby(columns, key=lambda column: column.table)
            }
    except SQLAlchemyError as error:
        raise entry.explain(error, "its tables cannot be read") from None
    finally:
        engine.dispose()
    return DatabaseContent(tables=tables)


def write_record(entry: DatabaseEntry, content: DatabaseContent) -> None:
    """Write a database's record to its `file`. Raises BadInput if that file exists and is not a record."""
    path = _record_path(entry)
    if path.exists():
        load_record(entry)
    record = content.model_dump(exclude_defaults=True)
    write_text(path, json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def load_record(entry: DatabaseEntry) -> DatabaseContent:
    """Return a database's record. Raises BadInput if the file is missing or is not a record."""
    path = _record_path(entry)
    try:
        return DatabaseContent.model_validate_json(path.read_bytes())
    except OSError:
        hint = f"run benchloom snapshot {entry.name}"
        raise BadInput(path, f"cannot be read as the record of {entry.label}", hint=hint) from None
    except ValidationError:
        raise BadInput(
            path, f"is not a record of a database's content; set {entry.label}.file to such a record"
        ) from None


@contextmanager
def ensure_unchanged(entry: DatabaseEntry) -> Iterator[None]:
    """Check, before and after the `with` block, that a server's content matches its record.

    SQLite files are not checked, nor are servers without a record. Raises BadInput with the names of the
    tables that changed.
    """
    has_record = entry.url is not None and entry.file is not None
    if has_record:
        _check(entry, read_content(entry))
    yield
    if has_record:
        _check(entry, read_content(entry))


def check_columns(entry: DatabaseEntry, columns: Sequence[Column]) -> None:
    """Raise BadInput if a server's columns differ from the columns in its record."""
    if entry.url is None or entry.file is None:
        return
    found = {
        name: describe_columns(table_columns)
        for name, table_columns in groupby(columns, key=lambda column: column.table)
    }
    recorded = {name: content.columns for name, content in load_record(entry).tables.items()}
    if found != recorded:
        names = sorted(name for name in {*found, *recorded} if found.get(name) != recorded.get(name))
        raise _changed(entry, names)


def describe_columns(columns: Iterator[Column] | Sequence[Column]) -> dict[str, str]:
    """Return the columns of one table as {name: "type [not null] [key] [-> reference]"}."""
    return {
        column.name: " ".join(
            [
                column.type,
                *(["not null"] if not column.nullable else []),
                *(["key"] if column.primary_key else []),
                *([f"-> {column.references}"] if column.references else []),
            ]
        )
        for column in columns
    }


def _read_table(connection: Connection, name: str, columns: Sequence[Column]) -> TableContent:
    """Read one table; if this fails, try each column alone and hash only the readable columns."""
    unread: dict[str, str] = {}
    try:
        rows, total = _hash_rows(connection, name, columns)
    except SQLAlchemyError as error:
        _raise_lost(error)
        for column in columns:
            try:
                _hash_rows(connection, name, [column])
            except SQLAlchemyError as own:
                _raise_lost(own)
                unread[column.name] = name_cause(own)
        sound = [column for column in columns if column.name not in unread]
        rows, total = _hash_rows(connection, name, sound) if sound else (0, 0)
    described = describe_columns(columns)
    return TableContent(columns=described, rows=rows, sha256=f"{total % MODULUS:064x}", unread=unread)


def _raise_lost(error: SQLAlchemyError) -> None:
    """Re-raise an error if the server does not answer; do nothing if only a table is unreadable."""
    if isinstance(error, (OperationalError, InterfaceError)) or getattr(
        error, "connection_invalidated", False
    ):
        raise error


def _hash_rows(connection: Connection, name: str, columns: Sequence[Column]) -> tuple[int, int]:
    """Return a table's row count, and the sum of the row hashes."""
    names = [quoted_name(column.name, quote=True) for column in columns]
    query = select(*map(sql_column, names)).select_from(table(quoted_name(name, quote=True)))
    total, rows = 0, 0
    # PostgreSQL can only continue after an error if the statement ran within a savepoint.
    with connection.begin_nested() if connection.dialect.name == "postgresql" else nullcontext():
        streamed = connection.execute(query.execution_options(stream_results=True, yield_per=BATCH))
        result: Any = getattr(streamed.cursor, "_result", None)
        try:
            for batch in streamed.partitions():
                rows += len(batch)
                total += sum(map(hash_row, batch))
        except DBAPIError:
            # PyMySQL reads an abandoned result to its end; if the server is gone, it prints a warning.
            if hasattr(result, "unbuffered_active"):
                result.unbuffered_active = False
            raise
    return rows, total


def hash_row(row: Sequence[object]) -> int:
    """Return the SHA-256 of one row's plain values as an integer."""
    text = json.dumps(to_plain_row(row), ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")


def _record_path(entry: DatabaseEntry) -> Path:
    if entry.url is None or entry.file is None:
        raise BadInput(
            entry.label,
            "has no record of its content",
            hint="add `file: snapshots/<name>.json` below its `url`",
        )
    return entry.file


def _check(entry: DatabaseEntry, content: DatabaseContent) -> None:
    if changed := load_record(entry).compare(content):
        raise _changed(entry, changed)


def _changed(entry: DatabaseEntry, tables: Sequence[str]) -> BadInput:
    shown = ", ".join(tables[:5]) + (f" and {len(tables) - 5} more" if len(tables) > 5 else "")
    return BadInput(
        entry.label, f"has changed since it was recorded: {shown}", hint="run the same command again"
    )
