"""The live layer of a ledger as a PostgreSQL database, shared by processes on several machines."""

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
"""Type or keyword in the SQLite schema -> its replacement for PostgreSQL."""
TABLES = "unnest(ARRAY['calls', 'possibly_paid', 'batches', 'unfinished', 'asked_again', 'claims']) AS name"
PREPARING = 4_711_000_004_711
"""The number of the advisory lock for creating tables; `CREATE TABLE IF NOT EXISTS` fails if two processes
create the same table concurrently."""
FETCHED_AT_ONCE = 500
"""Number of rows per fetch of a server-side cursor."""
WRITING_PATIENCE_S = 60.0
"""Seconds to retry a write after a lost connection; long, because a lost write loses a paid reply."""
CLAIMS = """
CREATE TABLE IF NOT EXISTS claims (
    key BYTEA PRIMARY KEY, holder BIGINT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now()
);
"""
DEAD = "pg_try_advisory_xact_lock(holder)"
"""SQL condition that is true if the process that claimed the call has no connection."""
AT_LEISURE = "set_config('synchronous_commit', 'off', true) = 'off'"
"""SQL condition, always true, that lets a statement commit without waiting for the disk. If a server crash
undoes the release of a lock, the process repeats the release when it reconnects."""
GRACE_S = 5.0
"""Seconds for which a lock's holder must be disconnected before another process takes over its calls."""
WATCH_S = 1.0
"""Interval in seconds at which a process checks that its connection still works."""
log = logging.getLogger(__name__)


class PostgresStore:
    """A live ledger in PostgreSQL. A process has separate connections for reads and for commits."""

    key_bytes = "key"

    def __init__(self, address: str) -> None:
        """Open the database; create missing tables.

        Raises BadInput if the database is not usable, and DatabaseGone if the database is not reachable.
        """
        self._address = address
        # PostgreSQL's advisory locks take signed 64-bit numbers.
        self._holder = secrets.randbits(62)
        self._reader = PostgresSession(address, self._greet)
        self._reader.run(_prepare)

    def select(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a query; see `Store`."""
        return iter(
            self._reader.run(
                lambda connection: connection.execute(translate(query), values, binary=True).fetchall()
            )
        )

    def scan(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield rows from a server-side cursor on a separate connection; see `Store`."""
        with (
            reporting(self._address),
            connect(self._address) as connection,
            # A server-side cursor exists only within a transaction.
            connection.transaction(),
            connection.cursor("scan", binary=True) as cursor,
        ):
            cursor.itersize = FETCHED_AT_ONCE
            yield from cursor.execute(translate(query))

    def open_writer(self) -> PostgresWriter:
        """Open the connection that is used for commits."""
        return PostgresWriter(PostgresSession(self._address, self._greet_writer, WRITING_PATIENCE_S))

    def open_locks(self) -> PostgresLocks:
        """Open the locks on calls; each lock is a row in the database."""
        return PostgresLocks(self._address, self._holder)

    def compact(self) -> None:
        """Delete old claims of processes that have exited; the server reuses the space automatically."""
        self._reader.run(delete_old_claims)

    def measure(self) -> int:
        """Return the size of the tables and their indexes in bytes."""
        query = f"SELECT CAST(sum(pg_total_relation_size(to_regclass(name))) AS BIGINT) FROM {TABLES}"  # noqa: S608 - constant names
        ((size,),) = self.select(query)
        return int(size)

    def close(self) -> None:
        """Close the connection for reading."""
        self._reader.close()

    def _greet(self, connection: Connection) -> None:
        """Take a shared advisory lock on the random number of this process.

        Every connection takes this lock, so a process that loses one connection keeps its claims on calls.
        """
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (self._holder,))

    def _greet_writer(self, connection: Connection) -> None:
        self._greet(connection)
        make_durable(connection)


class PostgresWriter:
    """The connection through which a process commits."""

    def __init__(self, session: PostgresSession) -> None:
        self._session = session

    def commit(self, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction; the changes are on the server's disk on return."""
        # If the connection is lost just before the reply, the transaction runs twice. This does not affect
        # calls, but a possibly paid call may be recorded twice.
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
    """Create missing tables; an account that cannot create tables can use existing tables."""
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
    """The locks that one process holds on calls. Thread-safe.

    A lock is a row with the number of its holder. Each process chooses a random number, and each of its
    connections holds an advisory lock on this number. When the process ends for any reason, the server drops
    the advisory locks, and another process can claim the row.

    A call has no advisory lock of its own. Otherwise, a process that loses its connection during a call would
    lose the lock, and another process would pay for the call again.
    """

    def __init__(self, address: str, holder: int) -> None:
        """Store the settings; the first lock opens the connection.

        `holder`: the random number of this process, on which its other connections also hold advisory locks.
        """
        self._address, self._holder = address, holder
        self._held: set[str] = set()
        self._missed: dict[int, tuple[float, float]] = {}
        """Holder -> the first and the last check that found the holder without a connection, in seconds of
        the monotonic clock."""
        self._dead: set[int] = set()
        self._session = PostgresSession(address, self._greet, on_loss=self._tell_loss)
        self._lost = False
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    def acquire(self, key: str) -> bool:
        """Lock a call; return False if another process holds it (see `CallLocks`). Raises DatabaseGone."""
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="locks", daemon=True)
            self._watcher.start()
        return self._session.run(lambda connection: self._claim(connection, key))

    def release(self, key: str) -> None:
        """Release a lock if this process holds it."""
        if key not in self._held:
            return
        self._held.discard(key)
        with suppress(BenchloomError):  # if the connection is lost, the next connection releases the lock
            self._session.run(
                lambda connection: connection.execute(
                    f"DELETE FROM claims WHERE key = %s AND holder = %s AND {AT_LEISURE}",  # noqa: S608 - constant words
                    (key, self._holder),
                )
            )

    def close(self) -> None:
        """Release all locks and end the watcher thread."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
            self._held.clear()
            with suppress(BenchloomError):  # losing the connection also releases the locks
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
        """Take over a call's lock if its holder has exited; return whether this process holds the lock."""
        row = connection.execute(
            f"SELECT holder, CASE WHEN holder <> %s THEN {DEAD} END FROM claims WHERE key = %s",  # noqa: S608 - constant words
            (self._holder, key),
        ).fetchone()
        if row is None:
            return False  # released meanwhile: the next attempt will succeed
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
        """Record that a holder has no connection; return whether this has lasted for GRACE_S seconds."""
        now = time.monotonic()
        first, last = self._missed.get(holder, (now, now))
        if now - last > GRACE_S / 2:  # the holder may have had a connection in between
            first = now
        self._missed[holder] = first, now
        if now - first >= GRACE_S:
            self._dead.add(holder)
        return holder in self._dead

    def _watch(self) -> None:
        """Check the connection regularly, so that it is reopened even while the process waits for replies."""
        while not self._stopping.wait(WATCH_S):
            with suppress(BenchloomError):
                self._session.run(lambda connection: connection.execute("SELECT 1"))

    def _greet(self, connection: Connection) -> None:
        make_durable(connection)  # if a crash undid a claim, another process could claim the call
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
    """Delete claims that are more than a day old and whose process has no connection to the server."""
    connection.execute(f"DELETE FROM claims WHERE at < now() - interval '1 day' AND {DEAD}")  # noqa: S608 - constant words
