"""The live layer of a ledger as a PostgreSQL database, for the processes of several machines."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from tasks.errors import BenchloomError
from tasks.models.recording.committer import Statement
from tasks.models.recording.ledger_tables import SCHEMA
from tasks.models.recording.postgres_session import (
    Connection,
    PostgresSession,
    connect,
    make_durable,
    reporting,
    translate,
)

TYPES = {"TEXT": "BYTEA", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", " WITHOUT ROWID": ""}
"""Words of the schema -> PostgreSQL's."""
TABLES = "unnest(ARRAY['calls', 'possibly_paid', 'batches', 'unfinished', 'asked_again', 'claims']) AS name"
PREPARING = 4_711_000_004_711
"""The lock of whoever makes the tables: `IF NOT EXISTS` fails where two make one at a time."""
FETCHED_AT_ONCE = 500
WRITING_PATIENCE_S = 60.0
"""A paid reply is worth a longer wait for the server."""
CLAIMS = """
CREATE TABLE IF NOT EXISTS claims (
    key BYTEA PRIMARY KEY, holder BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now()
);
"""
DEAD = "pg_try_advisory_xact_lock(holder)"
"""Whether no connection of the holder is left."""
AT_LEISURE = "set_config('synchronous_commit', 'off', true) = 'off'"
"""Lets one statement's commit wait for no disk: a release that a crash undid is made good on reconnecting."""
GRACE_S = 5.0
"""So long a holder must have been without a connection, in seconds, before its calls are taken over."""
WATCH_S = 1.0
"""How often a process looks whether its connection is still there, in seconds."""
log = logging.getLogger(__name__)


class PostgresStore:
    """A database; all threads of a process read by one connection and commit by another."""

    key_bytes = "key"

    def __init__(self, address: str) -> None:
        """Open the database. Raises BadInput if it cannot hold a ledger, DatabaseGone without a server."""
        self._address = address
        self._holder = secrets.randbits(62)
        self._reader = PostgresSession(address, self._greet)
        self._reader.run(_prepare)

    def select(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Return rows; see `Store`."""
        return iter(
            self._reader.run(
                lambda connection: connection.execute(translate(query), values, binary=True).fetchall()
            )
        )

    def scan(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield rows from a cursor on the server, in a connection of its own; see `Store`."""
        with (
            reporting(self._address),
            connect(self._address) as connection,
            connection.transaction(),
            connection.cursor("scan", binary=True) as cursor,
        ):
            cursor.itersize = FETCHED_AT_ONCE
            yield from cursor.execute(translate(query))

    def open_writer(self) -> PostgresWriter:
        """Open a connection that commits."""
        return PostgresWriter(PostgresSession(self._address, self._greet_writer, WRITING_PATIENCE_S))

    def open_locks(self) -> PostgresLocks:
        """Open the locks on calls, which are rows of the database."""
        return PostgresLocks(self._address, self._holder)

    def compact(self) -> None:
        """Delete old claims of processes that have ended; the server reuses the room of rows by itself."""
        self._reader.run(delete_old_claims)

    def measure(self) -> int:
        """Measure the bytes of the tables and their indexes."""
        query = f"SELECT CAST(sum(pg_total_relation_size(to_regclass(name))) AS BIGINT) FROM {TABLES}"  # noqa: S608 - constant names
        ((size,),) = self.select(query)
        return int(size)

    def close(self) -> None:
        """Close the connection that reads."""
        self._reader.close()

    def _greet(self, connection: Connection) -> None:
        """Show by every connection that the process lives, so that losing one of them gives no call away."""
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (self._holder,))

    def _greet_writer(self, connection: Connection) -> None:
        self._greet(connection)
        make_durable(connection)


class PostgresWriter:
    """The connection that commits."""

    def __init__(self, session: PostgresSession) -> None:
        self._session = session

    def commit(self, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction; it is on the server's disk on return."""
        # Lost at its very end, a commit is made twice: calls stay as they are, and a possibly paid one may
        # be booked a second time.
        if statements:
            self._session.run(lambda connection: _commit(connection, statements))

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _commit(connection: Connection, statements: Sequence[Statement]) -> None:
    with connection.pipeline(), connection.transaction():
        for statement, values in statements:
            connection.execute(translate(statement), values)


def _prepare(connection: Connection) -> None:
    """Make the tables where one is missing: an account that may not make any can use those there are."""
    missing = connection.execute(f"SELECT name FROM {TABLES} WHERE to_regclass(name) IS NULL".encode())  # noqa: S608 - constant names
    if not missing.fetchall():
        return
    schema = SCHEMA
    for word, ours in TYPES.items():
        schema = schema.replace(word, ours)
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (PREPARING,))
        connection.execute((schema + CLAIMS).encode())


class PostgresLocks:
    """The locks that one process holds on calls. Safe for threads.

    A lock is a row that names its holder: a number that a process drew, on which each of its connections has
    an advisory lock. The server drops those when the process ends, however that ends, and then another may
    take the row. Were the lock on the call itself an advisory lock, a process that loses its connection while
    its call is under way would lose the call to another one, which would pay for it again.
    """

    def __init__(self, address: str, holder: int) -> None:
        """holder: the process's number, on which its other connections have their locks."""
        self._address, self._holder = address, holder
        self._held: set[str] = set()
        self._missed: dict[int, tuple[float, float]] = {}
        """When holders were first and last seen without a connection, on our clock."""
        self._dead: set[int] = set()
        self._session = PostgresSession(address, self._greet, on_loss=self._tell_loss)
        self._lost = False
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    def acquire(self, key: str) -> bool:
        """Lock a call; return False if another process holds it; see `CallLocks`. Raises DatabaseGone."""
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="locks", daemon=True)
            self._watcher.start()
        return self._session.run(lambda connection: self._claim(connection, key))

    def release(self, key: str) -> None:
        """Release a lock, if it is held."""
        if key not in self._held:
            return
        self._held.discard(key)
        with suppress(BenchloomError):  # without a connection it is released by the next one
            self._session.run(
                lambda connection: connection.execute(
                    f"DELETE FROM claims WHERE key = %s AND holder = %s AND {AT_LEISURE}",  # noqa: S608 - constant words
                    (key, self._holder),
                )
            )

    def close(self) -> None:
        """Release all locks."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
            self._held.clear()
            with suppress(BenchloomError):  # the server drops what its holder does not hold
                self._session.run(self._release_others)
        self._session.close()

    def _claim(self, connection: Connection, key: str) -> bool:
        inserted = connection.execute(
            "INSERT INTO claims (key, holder) VALUES (%s, %s) ON CONFLICT DO NOTHING", (key, self._holder)
        )
        if inserted.rowcount == 1 or self._is_ours(connection, key):
            self._held.add(key)
            return True
        return False

    def _is_ours(self, connection: Connection, key: str) -> bool:
        """Return whether a call that is locked is locked by this process, or can be taken from a dead one."""
        row = connection.execute(
            f"SELECT holder, CASE WHEN holder <> %s THEN {DEAD} END FROM claims WHERE key = %s",  # noqa: S608 - constant words
            (self._holder, key),
        ).fetchone()
        if row is None:
            return False  # released meanwhile: whoever asks again will get it
        holder, dead = row
        if holder == self._holder:
            return True
        if not dead:
            self._missed.pop(holder, None)
            self._dead.discard(holder)
        if not dead or not self._has_ended(holder):
            return False
        taken = connection.execute(
            f"UPDATE claims SET holder = %s, at = now() WHERE key = %s AND holder = %s AND {DEAD}",  # noqa: S608 - constant words
            (self._holder, key, holder),
        )
        return taken.rowcount == 1

    def _has_ended(self, holder: int) -> bool:
        """Return whether a holder without a connection has had the time to come back."""
        now = time.monotonic()
        first, last = self._missed.get(holder, (now, now))
        if now - last > GRACE_S / 2:  # who knows what was between
            first = now
        self._missed[holder] = first, now
        if now - first >= GRACE_S:
            self._dead.add(holder)
        return holder in self._dead

    def _watch(self) -> None:
        """Open a lost connection again at once, also while this process waits for nothing but replies."""
        while not self._stopping.wait(WATCH_S):
            with suppress(BenchloomError):
                self._session.run(lambda connection: connection.execute("SELECT 1"))

    def _greet(self, connection: Connection) -> None:
        make_durable(connection)  # a claim that a crash of the server undid would be another's for the asking
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (self._holder,))
        if not self._lost:
            return
        self._lost = False
        self._release_others(connection)
        (kept,) = connection.execute(
            "SELECT count(*) FROM claims WHERE holder = %s", (self._holder,)
        ).fetchone() or (0,)
        if missing := len(self._held) - kept:
            log.warning(
                "%s: connected again; another process has taken over %d calls that were under way here, "
                "and may pay for them too", self._address, missing
            )  # fmt: skip
        else:
            log.warning("%s: connected again; the calls under way are still ours", self._address)

    def _release_others(self, connection: Connection) -> None:
        connection.execute(
            "DELETE FROM claims WHERE holder = %s AND NOT key = ANY(%s)", (self._holder, [*self._held])
        )

    def _tell_loss(self, problem: str) -> None:
        self._lost = True
        log.warning(
            "%s: the connection that holds the locks on calls was lost (%s); nothing new is asked before it "
            "is back", self._address, problem
        )  # fmt: skip


def delete_old_claims(connection: Connection) -> None:
    """Delete what processes left that ended long ago without releasing it."""
    connection.execute(f"DELETE FROM claims WHERE at < now() - interval '1 day' AND {DEAD}")  # noqa: S608 - constant words
