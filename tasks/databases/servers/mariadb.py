"""The reader process's engine for MariaDB and MySQL: read-only transactions and unbuffered results."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pymysql
from pymysql.connections import TEXT_TYPES
from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import SSCursor
from sqlglot import exp

from tasks.databases.messages import ServerSetup
from tasks.databases.servers.server_engine import AccountMayWrite

STREAM_TIMEOUT_S = 3_600
"""The server's time limit for a streamed statement, in seconds.

The reader process enforces a shorter limit. The server's limit matters only if the reader process was killed.
"""
GRANT_STATEMENT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>\S+) TO ", re.DOTALL)
READ_RIGHTS = frozenset({"USAGE", "SELECT", "SHOW VIEW"})
"""Privileges that allow only reading."""
AS_TEXT = (FIELD_TYPE.DATE, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP, FIELD_TYPE.TIME)
"""Types whose values are returned in the server's text form."""
TYPES = {
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.DATETIME: "datetime",
    FIELD_TYPE.TIMESTAMP: "timestamp",
    FIELD_TYPE.TIME: "time",
    FIELD_TYPE.BIT: "bits",
}
"""Type number -> type name, for types with several text formats."""
BINARY = 63
"""MariaDB's character set number for binary data."""
TIMEOUTS = frozenset({1969, 1317, 1205, 1222, 3024})
REFUSALS = frozenset({1044, 1045, 1142, 1143, 1227, 1290, 1370, 1792})
TOO_LARGE = frozenset({3, 1038, 1114, 1153, 1301, 4166})
GONE = frozenset({1053, 1927, 2003, 2006, 2013, 2014, 2055})
"""Error numbers of MariaDB and MySQL for a lost connection.

TIMEOUTS, REFUSALS and TOO_LARGE contain the error numbers for an exceeded time limit, a refused statement and
an exceeded size limit.
"""


class Mariadb:
    """A connection to MariaDB or MySQL; see `Engine`."""

    def __init__(self, setup: ServerSetup) -> None:
        self.address = setup["connect"]
        self.memory: int = setup["memory"]
        self.disk: int = setup["disk"]
        self.bytes: int = setup["bytes"]
        self.any_account = setup["any_account"]
        self.is_mariadb = True
        self.clock: int | None = None
        self.connection: pymysql.connections.Connection[Any] | None = None

    def connect(self) -> None:
        """Open the connection and set its limits.

        Raises AccountMayWrite if the account has more than read access.
        """
        options = {"charset": "utf8mb4", "connect_timeout": 10, "autocommit": True, **self.address}
        converters = {**conversions, **dict.fromkeys(AS_TEXT, str)}
        connection = pymysql.connect(**options, conv=converters, cursorclass=SSCursor)
        self.connection = connection
        rights = find_rights(_read_all(connection, "SHOW GRANTS"))
        if rights and not self.any_account:
            raise AccountMayWrite(rights[0])
        self.is_mariadb = "mariadb" in connection.get_server_info().lower()
        settings = {
            # With modes such as ANSI_QUOTES, the server reads a statement differently than the parser.
            "sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
            "time_zone": "'+00:00'",
            "group_concat_max_len": self.bytes,  # a longer result is an error, not a truncated answer
            "max_sort_length": 65_536,  # bytes of a text that are compared when rows are sorted
            "sort_buffer_size": 16 << 20,  # space for at least fifteen rows with several such texts
            "lock_wait_timeout": 1,
            "net_write_timeout": STREAM_TIMEOUT_S,  # seconds that a stream's reader may pause between batches
        }
        if self.is_mariadb:
            settings |= {
                "max_session_mem_used": self.memory,
                "tmp_disk_table_size": max(self.disk, self.memory),
                "max_recursive_iterations": 1_000_000,
            }
        self._run("SET " + ", ".join(f"{name} = {value}" for name, value in settings.items()))

    def set_clock(self, clock: int | None) -> None:
        """Set the current time of the session, as a Unix timestamp in seconds (None: the real time)."""
        if clock != self.clock or self.connection is None:
            if self.connection is None:
                self.connect()
            self._run(f"SET timestamp = {'DEFAULT' if clock is None else clock}")
            self.clock = clock

    def begin(self, sql: str, tree: exp.Query, seconds: float, *, whole: bool) -> list[str]:
        """Start one SELECT; return its column names. The driver never sends several statements at once."""
        if self.connection is None:
            self.connect()
        limit = seconds if whole else STREAM_TIMEOUT_S
        if self.is_mariadb:
            self._run(f"SET max_statement_time = {limit}")
        else:
            self._run(f"SET max_execution_time = {max(1, round(limit * 1000))}")
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        if self.connection is None:
            raise ConnectionError("the connection was lost")
        self.cursor = self.connection.cursor()
        self.cursor.execute(sql)
        return [column[0] for column in self.cursor.description or ()]

    def list_types(self) -> list[str]:
        """Return the type name of each column; "" for a type with only one text format."""
        result = self.cursor._result
        return [_find_type(field.type_code, field.charsetnr) for field in (result.fields if result else ())]

    def extend(self, seconds: float) -> None:
        """Do nothing, because the process's alarm limits the time.

        A server-side time limit would include the pauses between batches.
        """

    def fetchmany(self, wanted: int) -> list[tuple[object, ...]]:
        """Fetch at most `wanted` more rows."""
        return list(self.cursor.fetchmany(wanted))

    def end(self, *, finished: bool) -> None:
        """Roll back the transaction; also close the connection if the result was not read to its end."""
        if self.connection is None:
            return
        if finished or not self._is_sending():
            self._run("ROLLBACK")
            return
        with contextlib.suppress(Exception):
            self._kill_statement()
        self.connection._force_close()  # close() would first read the rest of the result
        self.connection = None

    def cancel(self) -> None:
        """Kill the running statement through a second connection."""
        with contextlib.suppress(Exception):
            self._kill_statement()

    def classify_error(self, error: Exception) -> str:
        """Return an error's kind, determined by the server's error number."""
        number = error.args[0] if isinstance(error, pymysql.Error) and error.args else None
        # MariaDB reports this memory limit with 1290, a number that otherwise means a refusal.
        if "max-session-mem-used" in str(error):
            return "large"
        if number in GONE or isinstance(error, (ConnectionError, pymysql.InterfaceError)):
            return "gone"
        kinds = (("timeout", TIMEOUTS), ("refused", REFUSALS), ("large", TOO_LARGE))
        return next((kind for kind, numbers in kinds if number in numbers), "failed")

    def _run(self, sql: str) -> None:
        if self.connection is None:
            raise ConnectionError("the connection was lost")
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def describe(self, error: Exception) -> str:
        """Return the server's error message on one line."""
        message = error.args[-1] if isinstance(error, pymysql.Error) and error.args else error
        return " ".join(str(message).split()) or type(error).__name__

    def _is_sending(self) -> bool:
        result = getattr(self.connection, "_result", None)
        return bool(result is not None and result.unbuffered_active)

    def _kill_statement(self) -> None:
        if self.connection is None:
            return
        with pymysql.connect(**{**self.address, "connect_timeout": 1, "read_timeout": 1}) as helper:
            helper.cursor().execute(f"KILL QUERY {self.connection.thread_id()}")


def _find_type(code: int, charset: int) -> str:
    return TYPES.get(code) or ("bytea" if charset == BINARY and code in TEXT_TYPES else "")


def find_rights(grants: list[str]) -> list[str]:
    """Return the privileges in an account's grants that allow more than reading."""
    found = []
    for grant in grants:
        match = GRANT_STATEMENT.match(grant)
        rights = (
            {right.split("(")[0].strip().upper() for right in match["rights"].split(",")}
            if match
            else {grant}
        )
        more = sorted(rights - READ_RIGHTS)
        if more:
            found.append(
                f"may {', '.join(more)}" if match else "has a role, whose rights Benchloom does not check"
            )
        if "WITH GRANT OPTION" in grant:
            found.append("may grant rights")
    return found


def _read_all(connection: pymysql.connections.Connection[Any], sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [str(row[0]) for row in cursor.fetchall()]
