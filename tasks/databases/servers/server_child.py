"""The process that runs model-written SQL on PostgreSQL or MariaDB, in read-only transactions.

tasks.databases.child starts the process. The address and the password are in the first message, not on the
command line. An account with more than read access is refused before any statement is run.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import cast

from tasks.databases.checking import check_select
from tasks.databases.frames import (
    drop_privileges,
    fetch,
    frame_rows,
    receive,
    send,
    send_error,
    serve,
)
from tasks.databases.messages import ReaderRequest, ServerSetup
from tasks.databases.servers.server_engine import AccountMayWrite, Engine
from tasks.databases.values import Value, to_plain_row
from tasks.errors import SqlRefused
from tasks.limits import limit_cpu

ALARM_S = 0.1
"""Seconds after the time limit until this process cancels a statement that the server has not stopped."""
LEAST_S = 0.001
"""Minimum time limit on the server in seconds, even if parsing has used most of the time."""
CHUNK = 1_000
"""Number of rows per fetch."""


class StatementLate(Exception):
    """Raised if the server did not finish a statement within the time limit."""


class ServerReader:
    """A connection to a server and its current statement."""

    def __init__(self, engine: Engine, setup: ServerSetup) -> None:
        self.engine = engine
        self.dialect = setup["dialect"]
        self.bytes: int = setup["bytes"]
        self.columns: list[str] = []
        self.types: list[str] = []
        self.busy = False
        engine.connect()
        signal.signal(signal.SIGALRM, _raise_late)
        drop_privileges(setup["memory"])

    def answer(self, request: ReaderRequest) -> Iterator[bytes]:
        """Start or continue a statement; yield the parts of one JSON message."""
        seconds = request["seconds"]
        limit_cpu(seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds + ALARM_S)
        try:
            if "sql" in request:
                self.close()
                began = time.monotonic()
                tree = check_select(request["sql"], self.dialect)
                # Both servers treat a limit of 0 as no limit.
                left = max(LEAST_S, seconds - (time.monotonic() - began))
                self.busy = True
                self.engine.set_clock(request.get("clock"))
                self.columns = self.engine.begin(request["sql"], tree, left, whole=request["whole"])
                self.types = self.engine.list_types()
            else:
                self.engine.extend(seconds)
            pieces, more = fetch(self._fetch_plain, request["rows"], self.bytes, CHUNK)
        except StatementLate:
            if self.busy:
                self.engine.cancel()
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if not more:
            self.close(finished=True)
        return frame_rows(self.columns, pieces, more=more, types=self.types)

    def close(self, *, finished: bool = False) -> None:
        """End the current statement."""
        if self.busy:
            self.busy = False
            self.engine.end(finished=finished)

    def classify_error(self, error: Exception) -> tuple[str, str]:
        """Return an error's kind (one that the parent process knows) and message."""
        if isinstance(error, StatementLate):
            return "late", "the server did not finish the statement in time"
        if isinstance(error, OverflowError):
            return "large", str(error)
        if isinstance(error, SqlRefused):
            return "refused", str(error)
        text = self.engine.describe(error)
        if isinstance(error, MemoryError) or "out of memory" in text:
            return "memory", "the statement needs more memory than it may have"
        return self.engine.classify_error(error), text

    def _fetch_plain(self, wanted: int) -> list[list[Value]]:
        return [to_plain_row(row) for row in self.engine.fetchmany(wanted)]


def _raise_late(*_: object) -> None:
    raise StatementLate


def main() -> None:
    """Connect to the server named in the first message and answer requests."""
    setup = cast("ServerSetup | None", receive())
    if setup is None:
        return
    engine: Engine = load_engine(setup)
    try:
        reader = ServerReader(engine, setup)
    except AccountMayWrite as error:
        send_error("privileged", str(error))
    except Exception as error:  # noqa: BLE001 (drivers raise own errors; all are reported to the parent)
        send_error("gone", engine.describe(error))
    else:
        send([b'{"ready":true}'])
        serve(reader, reader.classify_error)


def load_engine(setup: ServerSetup) -> Engine:
    """Import the driver of the server's dialect and create its engine."""
    engines: dict[str, Callable[[], type]] = {"postgres": _load_postgres, "mysql": _load_mariadb}
    engine: Engine = engines[setup["dialect"]]()(setup)
    return engine


def _load_postgres() -> type:
    from tasks.databases.servers.postgres import Postgres

    return Postgres


def _load_mariadb() -> type:
    from tasks.databases.servers.mariadb import Mariadb

    return Mariadb
