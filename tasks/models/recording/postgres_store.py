"""The live layer of a ledger as a PostgreSQL database, for the processes of several machines."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from tasks.models.recording.committer import Statement
from tasks.models.recording.ledger_tables import SCHEMA
from tasks.models.recording.postgres_locks import CLAIMS, PostgresLocks, delete_old_claims
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
TABLES = "unnest(ARRAY['calls', 'possibly_paid', 'batches', 'unfinished', 'claims']) AS name"
PREPARING = 4_711_000_004_711
"""The lock of whoever makes the tables: `IF NOT EXISTS` fails where two make one at a time."""
FETCHED_AT_ONCE = 500
WRITING_PATIENCE_S = 60.0
"""A paid reply is worth a longer wait for the server."""


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
