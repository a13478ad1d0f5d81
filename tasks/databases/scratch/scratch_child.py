"""The process that fills a scratch database: it inserts into known tables, and can be killed.

Started by tasks.databases.scratch.scratch. The database is in its memory. Before it sees what a model wrote,
it gives up files, processes and unlimited memory. Parsing refuses first; the engine refuses by itself what
gets past.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from tasks.databases.frames import drop_privileges, dump_rows, frame_rows, limit_cpu
from tasks.databases.messages import Limits, ReaderRequest
from tasks.databases.scratch import scratch_inserts
from tasks.databases.scratch.scratch_create import quote_name
from tasks.databases.scratch.scratch_inserts import Row
from tasks.databases.scratch.scratch_keys import Inserted, describe_broken_keys, list_primary
from tasks.databases.sqlite_process import Timed, classify_error, serve_process, set_limits, set_pragmas
from tasks.errors import SqlError, SqlFailed, SqlRefused, SqlTooLarge

KINDS: Mapping[str, type[SqlError]] = {"refused": SqlRefused, "large": SqlTooLarge, "failed": SqlFailed}


class ScratchSetup(Limits):
    """The first frame. create: our statements; rows: of all tables; value: bytes of any value."""

    create: list[str]
    rows: int
    value: int


class ScratchDatabase:
    """An empty database with our tables, in an open transaction, which takes one reply."""

    def __init__(self, setup: ScratchSetup) -> None:
        self.setup = setup
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        set_pragmas(self.connection, setup, ("foreign_keys = ON", "temp_store = MEMORY"))
        for statement in setup["create"]:
            self.connection.execute(statement)
        # A key that SQLite cannot hold is our mistake: it shows itself here, and not at the model's rows.
        self.connection.execute("PRAGMA foreign_key_check").fetchall()
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        ).fetchall()
        self.tables: dict[str, list[str]] = {name: self._list_columns(name) for (name,) in names}
        self.primary = {name: list_primary(self.connection, name) for name in self.tables}
        self.connection.execute("BEGIN")
        # Rows may come in any order: what a key refers to is looked for at the end.
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
        """Allow inserting into our tables, and reading them as foreign keys need it, and nothing else."""
        allowed = action in {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_READ}
        if allowed and first in self.tables and base == "main" and trigger is None:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def answer(self, request: ReaderRequest) -> Iterator[bytes]:
        """Insert the rows of a reply; yield a frame with the tables and, in order, (table, statement)."""
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
        self.connection.set_authorizer(None)
        try:
            if broken := describe_broken_keys(self.connection, inserted):
                raise SqlFailed(broken)
        finally:
            self.connection.set_authorizer(self.authorize)

    def close(self) -> None:
        """Nothing stays open between two statements."""

    def _insert(self, row: Row) -> int | None:
        """Insert one row and return its rowid."""
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
            raise SqlRefused(f"{row.place}: it does not insert one row")
        return cursor.lastrowid

    def _list_columns(self, table: str) -> list[str]:
        return [row[1] for row in self.connection.execute(f"PRAGMA table_info({quote_name(table)})")]


def classify(error: Exception) -> tuple[str, str]:
    """Return an error's kind, one that the parent knows, and its message."""
    known = next((kind for kind, raised in KINDS.items() if isinstance(error, raised)), None)
    return (known, str(error)) if known else classify_error(error)


def main() -> None:
    """Make the tables of the first frame and answer requests."""
    serve_process(ScratchDatabase, classify)
