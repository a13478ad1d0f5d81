"""The interface of a ledger's storage, and the choice between SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tasks.errors import BadInput
from tasks.models.recording.committer import Writer
from tasks.models.recording.ledger_address import Address
from tasks.models.recording.sqlite_store import SqliteStore

Row = tuple[Any, ...]


class CallLocks(Protocol):
    """The locks that one process holds on the calls of a ledger.

    The locks prevent two processes from paying for the same call.
    """

    def acquire(self, key: str) -> bool:
        """Lock a call; return False if another process holds the lock.

        Locking a call twice also returns True; a single `release` then releases the lock.
        """

    def release(self, key: str) -> None:
        """Release a lock if this process holds it."""

    def close(self) -> None:
        """Release all locks."""


class Store(Protocol):
    """The live layer of a ledger: tables and locks on calls. Safe to share between threads and processes."""

    key_bytes: str
    """SQL expression for a call's key as bytes, because a damaged key may not be valid text."""

    def select(self, query: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Yield a query's result rows. Raises BadInput if the rows cannot be read."""

    def scan(self, query: str) -> Iterator[Row]:
        """Yield a query's result rows, which may exceed memory.

        Raises BadInput if the rows cannot be read.
        """

    def open_writer(self) -> Writer:
        """Open the connection that is used for commits."""

    def open_locks(self) -> CallLocks:
        """Open the locks on calls; the caller must close them."""

    def compact(self) -> None:
        """Free the disk space of deleted rows."""

    def measure(self) -> int:
        """Return the size of the store in bytes."""

    def close(self) -> None:
        """Close the connections for reading."""


def open_store(address: Address) -> Store:
    """Open the live layer at an address; create its tables if they are missing.

    Raises BadInput if the address does not point to a ledger or the driver is missing, and DatabaseGone if
    the server cannot be reached.
    """
    if isinstance(address, Path):
        return SqliteStore(address)
    try:
        from tasks.models.recording.postgres_store import PostgresStore
    except ImportError as error:
        # Without the C library libpq, psycopg raises an ImportError that has no name.
        if (error.name or "psycopg").partition(".")[0] != "psycopg":
            raise
        raise BadInput(
            address,
            "needs psycopg, which is not installed here",
            hint="run pip install 'benchloom[postgresql]'",
        ) from error
    return PostgresStore(address)
