"""A connection to a ledger's PostgreSQL database that reconnects after a loss."""

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
"""The object id of PostgreSQL's type bytea."""
OPTIONS = {
    "application_name": "benchloom", "connect_timeout": 10,
    # With these options, a server that disappears silently is detected within half a minute.
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000,
}  # fmt: skip
"""Default options of a connection; the ledger's address can override them."""
PATIENCE_S = 10.0
"""Seconds to keep trying to reconnect; longer than a typical restart of a server."""
RETRY_S = 0.3
"""Seconds between two attempts to reconnect."""
SILENT_S = 60.0
"""Timeout of a statement in seconds, enforced by the client; keepalives do not detect a proxy that forwards
nothing."""
SERVER_OPTIONS = {
    "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25000",
}  # fmt: skip
"""Session settings that let the server detect a client whose machine is gone.

Without these settings, the calls that such a client has locked would stay locked for hours.
"""
# Psycopg logs a warning if a connection is lost in a transaction, although it also raises the error.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class TextDumper(Dumper):
    """Writes text as bytes, because a text column of PostgreSQL cannot store NUL or an unpaired surrogate."""

    format = pq.Format.BINARY
    oid = BYTEA

    def dump(self, obj: str) -> bytes:
        """Encode a text as UTF-8 bytes."""
        return obj.encode("utf-8", "surrogatepass")


class TextLoader(Loader):
    """Reads text that was stored as bytes; an entry with bytes that are not valid UTF-8 is damaged."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> str:
        """Decode UTF-8 bytes; invalid bytes become surrogates."""
        raw = bytes(data)
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return raw.decode("utf-8", "surrogateescape")


class PostgresSession:
    """A process's connection to the database, opened on first use. Thread-safe."""

    def __init__(
        self,
        address: str,
        greet: Callable[[Connection], None],
        patience_s: float = PATIENCE_S,
        on_loss: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Store the settings; the first `run` opens the connection.

        `greet`: called with every new connection. `patience_s`: how long to retry a lost connection, in
        seconds. `on_loss`: called with a description if the connection is lost.
        """
        self._address, self._greet, self._patience_s, self._on_loss = address, greet, patience_s, on_loss
        self._mutex = threading.Lock()
        self._connection: Connection | None = None
        self._watched: Connection | None = None
        """The connection that the watcher thread checks, including during `greet`."""
        self._since: float | None = None
        """Start of the running statement, in seconds of the monotonic clock; None if no statement is
        running."""
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._gone = True
        """Whether the server is considered unreachable; initially True.

        If so, the next statement tries to connect only once.
        """

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Run a function with the connection, and rerun it if the connection is lost; return its result.

        The function must be idempotent. Raises DatabaseGone if the server cannot be reached, and BadInput if
        the server refuses a statement.
        """
        with self._mutex, reporting(self._address):
            deadline = time.monotonic() + (0.0 if self._gone else self._patience_s)
            while True:
                try:
                    self._since = time.monotonic()
                    return work(self._open())
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    continue  # the server has rolled back the transaction in favour of another process
                except psycopg.Error as error:
                    if self._connection is not None and not self._connection.closed:
                        raise
                    if self._connection is not None:
                        self._connection = None
                        self._on_loss(describe(error))
                    if time.monotonic() >= deadline:
                        self._gone = True
                        raise
                finally:
                    self._since = None
                time.sleep(RETRY_S)

    def close(self) -> None:
        """Close the connection and end the watcher thread."""
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
        """Shut down the connection if a statement runs for more than SILENT_S seconds.

        The statement then raises an error. The watcher thread runs this method until the session is closed.
        """
        while not self._closed.wait(SILENT_S / 10):
            since, watched = self._since, self._watched
            if since is not None and watched is not None and time.monotonic() - since > SILENT_S:
                shut(watched)


def connect(address: str) -> Connection:
    """Open a connection in autocommit mode. Raises psycopg.Error."""
    options = {**OPTIONS, **conninfo.conninfo_to_dict(address)}
    connection = psycopg.connect(**options, autocommit=True)  # type: ignore[arg-type] # options by their names
    connection.adapters.register_dumper(str, TextDumper)
    connection.adapters.register_loader("bytea", TextLoader)
    return connection


def set_keepalives(connection: Connection) -> None:
    """Set options so that the server detects a client that disappears silently."""
    with suppress(errors.InvalidParameterValue, errors.InsufficientPrivilege):  # not on every platform
        for name, value in SERVER_OPTIONS.items():
            # TextDumper would send a text parameter as bytea, which set_config does not accept.
            connection.execute(f"SELECT set_config('{name}', '{value}', false)".encode())


def shut(connection: Connection) -> None:
    """Shut down a connection's socket, even while another thread waits on the connection."""
    # A duplicate, because the `with` block closes the descriptor, which psycopg still uses.
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as handle:
        handle.shutdown(socket.SHUT_RDWR)


def make_durable(connection: Connection) -> None:
    """Make commits wait for the server's disk, even if the server's default is not to wait."""
    # A stricter default, such as remote_apply, is kept.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


@contextmanager
def reporting(address: str) -> Iterator[None]:
    """Convert psycopg's errors inside the `with` block to Benchloom's errors, with a one-line message."""
    try:
        yield
    except psycopg.Error as error:
        raise wrap(address, error) from error


def wrap(address: str, error: psycopg.Error) -> BenchloomError:
    """Convert a psycopg error to DatabaseGone if the server cannot be reached, otherwise to BadInput."""
    state = error.sqlstate or ""
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    # SQLSTATE 08: the connection failed; 57P: the server is shutting down or not ready.
    if lost and (not state or state.startswith(("08", "57P"))):
        return DatabaseGone(
            f"{address}: cannot connect to the ledger's server: {describe(error)} "
            "(no model is called without the ledger)"
        )
    return BadInput(address, f"cannot be used as the ledger: {describe(error)}")


def describe(error: psycopg.Error) -> str:
    """Return an error's message as printable text on one line."""
    return plain(error.diag.message_primary or str(error)) or type(error).__name__


@cache
def translate(query: str) -> bytes:
    """Replace the placeholders `?` in a statement with psycopg's `%s`."""
    return query.replace("?", "%s").encode()
