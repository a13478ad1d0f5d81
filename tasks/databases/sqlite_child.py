"""The process that runs model-written SQL on SQLite, without write access.

tasks.databases.child starts the process, which reads requests from stdin and writes replies to stdout. The
process opens one file read-only. Before the first request, the process drops the permissions to write files
and start processes, and limits its memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import lru_cache, partial

from tasks.databases.checking import check_select
from tasks.databases.frames import drop_privileges, fetch, frame_rows
from tasks.databases.messages import ReaderRequest, SqliteSetup
from tasks.databases.sqlite_process import Timed, classify_error, serve_process, set_limits, set_pragmas
from tasks.limits import limit_cpu

# The list omits random and randomblob (not deterministic), zeroblob (large values at no cost), the current_
# functions, load_extension, and functions that reveal the engine or the connection.
HARMLESS = """
abs acos acosh asin asinh atan atan2 atanh ceil ceiling char coalesce concat concat_ws cos cosh date
datetime degrees exp floor format glob hex ifnull iif instr julianday length like likelihood likely
ln log log10 log2 lower ltrim max min mod nullif octet_length pi pow power printf quote radians
replace round rtrim sign sin sinh soundex sqrt strftime substr substring tan tanh time timediff trim
trunc typeof unicode unixepoch unlikely upper avg count group_concat string_agg sum total row_number
rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value json
json_array json_array_length json_extract json_object json_quote json_type json_valid
json_group_array json_group_object json_each json_tree -> ->>
"""
FUNCTIONS = frozenset(HARMLESS.split())
VIRTUAL = frozenset({"json_each", "json_tree"})
"""Table-valued functions that a query may use."""
LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1_000,
}
"""SQLite's limits on the size of a statement and its parts."""


class SqliteReader:
    """A connection to a SQLite file, with its limits and the current statement."""

    def __init__(self, setup: SqliteSetup) -> None:
        self.bytes: int = setup["bytes"]
        self.cursor: sqlite3.Cursor | None = None
        self.connection = sqlite3.connect(setup["uri"], uri=True, isolation_level=None)
        # SQLite stores any bytes as text, and Python would fail on invalid UTF-8.
        self.connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        # The file may be corrupt: `cell_size_check` finds malformed pages when SQLite first reads them.
        store = f"temp_store = {'FILE' if setup['disk'] else 'MEMORY'}"
        set_pragmas(self.connection, setup, ("query_only = ON", store, "cell_size_check = ON"))
        names = self.connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        # SQLite's `lower` is not used, because it only converts ASCII letters.
        self.tables = {name.lower() for (name,) in names} | VIRTUAL
        # The first use of a table-valued function creates it, with actions that the authorizer would refuse.
        for name in sorted(VIRTUAL):
            self.connection.execute(f"SELECT 1 FROM {name}('[]')").fetchall()  # noqa: S608 (constants)
        set_limits(self.connection, setup, LIMITS)
        self.connection.set_authorizer(self.authorize)
        self.timed = Timed(self.connection)
        drop_privileges(setup["memory"], disk=setup["disk"])

    def authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Allow reading the user's tables and calling harmless functions; deny everything else."""
        if action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and (first or "").lower() in self.tables:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and second == "" and not (first or "").lower().startswith("sqlite_"):
            # Allow `SELECT count(*) FROM x`, where x is the name of a CTE or subquery.
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def answer(self, request: ReaderRequest) -> Iterator[bytes]:
        """Start or continue a statement; yield the parts of one JSON message."""
        self.timed.start(request["seconds"])
        limit_cpu(request["seconds"])
        if "sql" in request:
            self.close()
            check_once(request["sql"])
            self.cursor = self.connection.execute(request["sql"], request["parameters"])
        cursor = self.cursor
        if cursor is None:
            raise sqlite3.ProgrammingError("no statement is running")
        pieces, more = fetch(cursor.fetchmany, request["rows"], self.bytes)
        if not more:
            self.close()
        return frame_rows([column[0] for column in cursor.description or ()], pieces, more=more)

    def close(self) -> None:
        """End the current statement."""
        if self.cursor is not None:
            self.cursor.close()
            self.cursor = None


@lru_cache(maxsize=1024)
def check_once(sql: str) -> None:
    """Raise SqlRefused unless the text is exactly one SELECT.

    The result is cached, so each text is parsed once.
    """
    check_select(sql)


def main() -> None:
    """Open the file named in the first message and answer requests."""
    serve_process(SqliteReader, classify_error)
