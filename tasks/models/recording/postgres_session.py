"""A connection to the PostgreSQL database of a ledger that reconnects when it is lost."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, errors, pq
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader

from tasks.errors import BadInput, BenchloomError, DatabaseGone
from tasks.models.incoming import plain

Connection = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")
BYTEA = 17
OPTIONS = {
    "application_name": "benchloom", "connect_timeout": 10,
    # A server that went without a word is noticed within half a minute.
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000,
}  # fmt: skip
"""Options of every connection, unless the address has others."""
PATIENCE_S = 10.0
"""So long a server may be away, as when it is restarted."""
RETRY_S = 0.3
SILENT_S = 60.0
"""So long a statement may go without an answer: keepalives do not see a proxy that passes nothing on."""
SERVER_OPTIONS = {
    "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25000",
}  # fmt: skip
"""Settings of every session: a process whose machine is gone must not hold its calls for hours."""
# What it warns of, a connection that was lost within a transaction, is raised as well.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class TextDumper(Dumper):
    """Writes text as bytes: a column of PostgreSQL's text could hold no NUL and no half surrogate pair."""

    format = pq.Format.BINARY
    oid = BYTEA

    def dump(self, obj: str) -> bytes:
        """Encode a text."""
        return obj.encode("utf-8", "surrogatepass")


class TextLoader(Loader):
    """Reads text that was written as bytes. Bytes that are no text make an entry damaged, as in a file."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> str:
        """Decode a text."""
        raw = bytes(data)
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return raw.decode("utf-8", "surrogateescape")


class PostgresSession:
    """A connection of a process. Safe for threads."""

    def __init__(
        self,
        address: str,
        greet: Callable[[Connection], None],
        patience_s: float = PATIENCE_S,
        on_loss: Callable[[str], None] = lambda _: None,
    ) -> None:
        """greet: called with every new connection. patience_s: how long a lost one is tried for."""
        self._address, self._greet, self._patience_s, self._on_loss = address, greet, patience_s, on_loss
        self._mutex = threading.Lock()
        self._connection: Connection | None = None
        self._watched: Connection | None = None
        """The one that is open, or just being greeted."""
        self._since: float | None = None
        """When the statement under way began, on our clock."""
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._gone = True
        """No server was there at the last try: whoever comes next tries once, and does not wait."""

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Do a piece of work that may be done twice: again where the connection is lost under it.

        Raises DatabaseGone if no server is there, BadInput for what it refuses.
        """
        with self._mutex, reporting(self._address):
            ends = time.monotonic() + (0.0 if self._gone else self._patience_s)
            while True:
                try:
                    self._since = time.monotonic()
                    return work(self._open())
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    continue  # the server has undone it, so that another process could go on
                except psycopg.Error as error:
                    if self._connection is not None and not self._connection.closed:
                        raise
                    if self._connection is not None:
                        self._connection = None
                        self._on_loss(describe(error))
                    if time.monotonic() >= ends:
                        self._gone = True
                        raise
                finally:
                    self._since = None
                time.sleep(RETRY_S)

    def close(self) -> None:
        """Close the connection."""
        with self._mutex:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._watched, self._gone = None, None, True
            self._closed.set()

    def _open(self) -> Connection:
        if self._connection is None:
            connection = self._watched = connect(self._address)
            self._closed.clear()
            if self._watcher is None or not self._watcher.is_alive():
                self._watcher = threading.Thread(target=self._end_silence, name="silence", daemon=True)
                self._watcher.start()
            try:
                set_keepalives(connection)
                self._greet(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._gone = connection, False
        return self._connection

    def _end_silence(self) -> None:
        """Shut a connection under which nothing was heard for `SILENT_S`: the statement then raises."""
        while not self._closed.wait(SILENT_S / 10):
            since, watched = self._since, self._watched
            if since is not None and watched is not None and time.monotonic() - since > SILENT_S:
                shut(watched)


def connect(address: str) -> Connection:
    """Open a connection whose statements are committed one by one. Raises psycopg.Error."""
    options = {**OPTIONS, **conninfo.conninfo_to_dict(address)}
    connection = psycopg.connect(**options, autocommit=True)  # type: ignore[arg-type] # options by their names
    connection.adapters.register_dumper(str, TextDumper)
    connection.adapters.register_loader("bytea", TextLoader)
    return connection


def set_keepalives(connection: Connection) -> None:
    """Let the server notice, too, that the other side has gone without a word."""
    with suppress(errors.InvalidParameterValue, errors.InsufficientPrivilege):  # not every platform has them
        for name, value in SERVER_OPTIONS.items():
            connection.execute(f"SELECT set_config('{name}', '{value}', false)".encode())


def shut(connection: Connection) -> None:
    """Shut a connection's socket, whatever another thread waits for on it."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as handle:
        handle.shutdown(socket.SHUT_RDWR)


def make_durable(connection: Connection) -> None:
    """Let what is committed be on the server's disk, whatever the server is set to."""
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


@contextmanager
def reporting(address: str) -> Iterator[None]:
    """Raise psycopg's errors as ours, in one line."""
    try:
        yield
    except psycopg.Error as error:
        raise wrap(address, error) from error


def wrap(address: str, error: psycopg.Error) -> BenchloomError:
    """Make our error of psycopg's: a server that cannot be reached, or what it refuses."""
    state = error.sqlstate or ""
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    if lost and (not state or state.startswith(("08", "57P"))):
        return DatabaseGone(
            f"{address}: no connection to the ledger's server: {describe(error)} "
            "(without the ledger nothing is asked)"
        )
    return BadInput(address, f"cannot be used as the ledger: {describe(error)}")


def describe(error: psycopg.Error) -> str:
    """Write an error's message as a part of one line."""
    return plain(error.diag.message_primary or str(error)) or type(error).__name__


@cache
def translate(query: str) -> bytes:
    """Write a statement with psycopg's marks of values."""
    return query.replace("?", "%s").encode()
