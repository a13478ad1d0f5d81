"""The process that runs model-written SQL on PostgreSQL or MariaDB: in transactions that only read.

Started by tasks.databases.child; the address and the password come by its first frame, not by its command
line. An account that may do more than read is refused before any statement.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

from tasks.databases.frames import (
    fetch,
    frame_rows,
    give_up_rights,
    limit_cpu,
    receive,
    send,
    send_error,
    serve,
)
from tasks.databases.server_engine import Engine, Privileged
from tasks.databases.values import plain_row

ALARM_S = 0.1
"""How much later than the server's own limit this process ends a statement."""
CHUNK = 1_000


class Late(Exception):
    """The server did not keep to its limit."""


class Reader:
    """One connection, and the statement under way."""

    def __init__(self, engine: Engine, setup: dict[str, Any]) -> None:
        self.engine = engine
        self.bytes: int = setup["bytes"]
        self.columns: list[str] = []
        self.busy = False
        engine.connect()
        signal.signal(signal.SIGALRM, _raise_late)
        give_up_rights(setup["memory"])

    def answer(self, request: dict[str, Any]) -> Iterator[bytes]:
        """Run a statement, or go on with it; yield the pieces of one frame of JSON."""
        seconds = request["seconds"]
        limit_cpu(seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds + ALARM_S)
        try:
            if "sql" in request:
                self.close()
                self.busy = True
                self.columns = self.engine.begin(request["sql"], seconds, whole=request["whole"])
            else:
                self.engine.go_on(seconds)
            pieces, more = fetch(self._fetch_plain, request["rows"], self.bytes, CHUNK)
        except Late:
            self.engine.cancel()
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if not more:
            self.close(finished=True)
        return frame_rows(self.columns, pieces, more=more)

    def close(self, *, finished: bool = False) -> None:
        """End the statement under way."""
        if self.busy:
            self.busy = False
            self.engine.end(finished=finished)

    def name_error(self, error: Exception) -> tuple[str, str]:
        """Sort an error into one of the parent's kinds, with its line."""
        if isinstance(error, Late):
            return "late", "the server did not end the statement in time"
        if isinstance(error, OverflowError):
            return "large", str(error)
        text = self.engine.describe(error)
        if isinstance(error, MemoryError) or "out of memory" in text:
            return "memory", "the statement needs more memory than it may have"
        return self.engine.name_error(error), text

    def _fetch_plain(self, wanted: int) -> list[Any]:
        return [plain_row(row) for row in self.engine.fetchmany(wanted)]


def _raise_late(*_: object) -> None:
    raise Late


def main() -> None:
    """Connect to the server that the first frame names, and answer requests."""
    setup = receive()
    if setup is None:
        return
    engine: Engine = load_engine(setup)
    try:
        reader = Reader(engine, setup)
    except Privileged as error:
        send_error("privileged", str(error))
    except Exception as error:  # noqa: BLE001 (a driver has errors of its own, and each is the parent's to name)
        send_error("gone", engine.describe(error))
    else:
        send([b'{"ready":true}'])
        serve(reader, reader.name_error)


def load_engine(setup: dict[str, Any]) -> Engine:
    """Import the one driver that is needed."""
    engines: dict[str, Callable[[], type]] = {"postgres": _load_postgres, "mysql": _load_mariadb}
    engine: Engine = engines[setup["dialect"]]()(setup)
    return engine


def _load_postgres() -> type:
    from tasks.databases.postgres import Postgres

    return Postgres


def _load_mariadb() -> type:
    from tasks.databases.mariadb import Mariadb

    return Mariadb
