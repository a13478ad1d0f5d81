"""The process that inserts a model's rows into the tables of a scratch database.

tasks.databases.scratch.scratch starts the process. The database is in memory. Before the process receives a
model's text, it drops access to files and child processes, and limits its memory. The parser refuses
forbidden statements; SQLite's authorizer refuses forbidden statements that the parser misses.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from tasks.databases.frames import drop_privileges, dump_rows, frame_rows
from tasks.databases.messages import Limits, ReaderRequest
from tasks.databases.scratch import scratch_inserts
from tasks.databases.scratch.scratch_create import quote_name
from tasks.databases.scratch.scratch_inserts import Row
from tasks.databases.sqlite_process import Timed, classify_error, serve_process, set_limits, set_pragmas
from tasks.errors import SqlError, SqlFailed, SqlRefused, SqlTooLarge
from tasks.limits import limit_cpu

SHOWN_ROWS = 2
SHOWN_KEYS = 5
"""Maximum number of existing keys that an error message lists per broken foreign key.

SHOWN_ROWS: maximum number of rows with broken foreign keys in the message.
"""
Inserted = Mapping[tuple[str, int | None], Row]
"""Key (table, rowid) -> the inserted row."""
KINDS: Mapping[str, type[SqlError]] = {"refused": SqlRefused, "large": SqlTooLarge, "failed": SqlFailed}
"""Kind of error in messages to the parent process -> its exception."""


def describe_broken_keys(connection: sqlite3.Connection, inserted: Inserted) -> str:
    """Describe the first rows with broken foreign keys, on one line; "" if there are none."""
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    lines = [_describe(connection, inserted, *found) for found in broken[:SHOWN_ROWS]]
    more = len(broken) - SHOWN_ROWS
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def list_primary(connection: sqlite3.Connection, table: str) -> list[str]:
    """List the columns of a table's primary key, in the key's order."""
    rows = connection.execute(f"PRAGMA table_info({quote_name(table)})").fetchall()
    return [row[1] for row in sorted(rows, key=lambda row: int(row[5])) if row[5]]


def _describe(
    connection: sqlite3.Connection, inserted: Inserted, table: str, rowid: int | None, parent: str, key: int
) -> str:
    listed = connection.execute(f"PRAGMA foreign_key_list({quote_name(table)})").fetchall()
    names = [row[3] for row in listed if row[0] == key]
    # A foreign key that names no columns refers to the primary key.
    theirs = [row[4] for row in listed if row[0] == key and row[4]] or list_primary(connection, parent)
    row = inserted.get((table, rowid))
    # A value that the statement does not contain, and that is not NULL, is the row id that SQLite assigned.
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
    return ", ".join(text[:40] for text in [*shown, "..."][: len(rows)])


class ScratchSetup(Limits):
    """The first message to the process.

    `create`: trusted CREATE statements. `rows`: maximum total number of rows. `value`: maximum bytes of one
    value.
    """

    create: list[str]
    rows: int
    value: int


class ScratchDatabase:
    """An in-memory database for the rows of one reply.

    Trusted statements create the tables. All rows are inserted in one transaction.
    """

    def __init__(self, setup: ScratchSetup) -> None:
        self.setup = setup
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        set_pragmas(self.connection, setup, ("foreign_keys = ON", "temp_store = MEMORY"))
        for statement in setup["create"]:
            self.connection.execute(statement)
        # An invalid foreign key in `create` is Benchloom's error, so it fails here, not at the model's rows.
        self.connection.execute("PRAGMA foreign_key_check").fetchall()
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        ).fetchall()
        self.tables: dict[str, list[str]] = {name: self._list_columns(name) for (name,) in names}
        self.primary = {name: list_primary(self.connection, name) for name in self.tables}
        self.connection.execute("BEGIN")
        # Rows may be in any order, because foreign keys are checked at the end.
        self.connection.execute("PRAGMA defer_foreign_keys = ON")
        limits = {
            sqlite3.SQLITE_LIMIT_SQL_LENGTH: setup["bytes"],
            sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
            sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
        }
        set_limits(self.connection, setup, limits)
        self.connection.set_authorizer(self.authorize)
        self.timed = Timed(self.connection)
        drop_privileges(setup["memory"])

    def authorize(
        self, action: int, first: str | None, _: str | None, base: str | None, trigger: str | None
    ) -> int:
        """Allow inserts into the trusted tables, and reads for foreign keys; deny all other actions."""
        allowed = action in {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_READ}
        if allowed and first in self.tables and base == "main" and trigger is None:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def answer(self, request: ReaderRequest) -> Iterator[bytes]:
        """Insert the rows of a reply; yield the parts of one JSON message.

        In the message, `columns` contains the table names, and `rows` contains (table, INSERT statement)
        pairs.
        """
        self.timed.start(request["seconds"])
        limit_cpu(request["seconds"])
        rows = scratch_inserts.read_inserts(
            request["sql"], self.tables, rows=self.setup["rows"], value=self.setup["value"]
        )
        inserted = {(row.table, self._insert(row)): row for row in rows}
        self._check_keys(inserted)
        pieces = [dump_rows([[row.table, row.sql] for row in rows])]
        yield from frame_rows(list(self.tables), pieces, more=False)

    def _check_keys(self, inserted: Inserted) -> None:
        # The check runs PRAGMA statements and reads the schema, which the authorizer would refuse.
        self.connection.set_authorizer(None)
        try:
            if broken := describe_broken_keys(self.connection, inserted):
                raise SqlFailed(broken)
        finally:
            self.connection.set_authorizer(self.authorize)

    def close(self) -> None:
        """Do nothing, because no statement stays open after its reply."""

    def _insert(self, row: Row) -> int | None:
        """Insert one row; return its rowid. Raises SqlFailed, SqlTooLarge or SqlRefused with the position."""
        try:
            self.timed.check()
            cursor = self.connection.execute(row.sql)
        except sqlite3.Error as error:
            kind, text = classify_error(error)
            if kind not in KINDS:
                raise
            if text == "datatype mismatch":
                text = f"the key {row.table}.{self.primary[row.table][0]} must be a whole number"
            raise KINDS[kind](f"{row.place}: {text}") from None
        if cursor.rowcount != 1:
            raise SqlRefused(f"{row.place}: the statement does not insert exactly one row")
        return cursor.lastrowid

    def _list_columns(self, table: str) -> list[str]:
        return [row[1] for row in self.connection.execute(f"PRAGMA table_info({quote_name(table)})")]


def classify(error: Exception) -> tuple[str, str]:
    """Return an error's kind (one that the parent process knows) and message."""
    known = next((kind for kind, raised in KINDS.items() if isinstance(error, raised)), None)
    return (known, str(error)) if known else classify_error(error)


def main() -> None:
    """Create the tables that the first message defines, and answer requests."""
    serve_process(ScratchDatabase, classify)
