"""The live layer of a ledger as one SQLite file, shared by all processes of a user."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tasks.disk import is_disk_full
from tasks.errors import BadInput
from tasks.models.incoming import plain
from tasks.models.recording.committer import Statement
from tasks.models.recording.ledger_tables import SCHEMA

ADDED = {
    "model": "TEXT NOT NULL DEFAULT ''",
    "batch": "INTEGER NOT NULL DEFAULT 0",
    "checksum": "TEXT NOT NULL DEFAULT ''",
}
"""Column that is missing in ledgers of earlier versions -> its SQL definition."""
BUSY_S = 60
"""Seconds that a statement waits for another process's transaction."""
BESIDE = ("", "-wal", "-shm", "-claims")
"""Suffixes of a ledger's files: database, write-ahead log, index of the log, and locks."""


class FileLocks:
    """Locks on the calls of a ledger that is a SQLite file.

    A lock covers one byte of a file next to the ledger, at an offset computed from the call's key. The kernel
    releases the lock when the process ends for any reason, so a lock is never stale.

    Use one object per process and file: closing any descriptor of a file drops all of the process's locks on
    the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self, key: str) -> bool:
        """Lock a call; return False if another process holds the lock.

        Locking a call twice also returns True; a single `release` then releases the lock.
        """
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, find_offset(key))
        except BlockingIOError:
            return False
        return True

    def release(self, key: str) -> None:
        """Release a lock if this process holds it."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, find_offset(key))

    def close(self) -> None:
        """Release all locks."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def find_offset(key: str) -> int:
    """Return a key's byte offset: the number in the key's first 15 hex digits (60 bits).

    Calls with the same offset share a lock, so one waits for the other.
    """
    # 16 digits would exceed a file offset, which is a signed 64-bit number.
    return int(key[:15], 16)


class SqliteStore:
    """A SQLite file, created if missing; each thread reads through its own connection."""

    key_bytes = "CAST(key AS BLOB)"

    def __init__(self, path: Path) -> None:
        """Open the file. Raises BadInput if the file is not a ledger, and OSError if the disk is full."""
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _keep_private(path)
            with contextlib.closing(self._connect()) as connection:
                connection.executescript(SCHEMA)
                _add_columns(connection)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and is_disk_full(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
            raise BadInput(
                path,
                f"cannot be used as the ledger: {plain(str(error))}",
                hint="move the file to another folder",
            ) from error

    def select(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; see `Store`."""
        try:
            # `yield from` would close the cursor with the generator, perhaps after the connection.
            for row in self._connection().execute(query, values):  # noqa: UP028
                yield row
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise BadInput(
                self._path, f"cannot be read: {plain(str(error))}", hint="restore the file"
            ) from error

    def scan(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; SQLite never loads all rows into memory."""
        return self.select(query)

    def open_writer(self) -> SqliteWriter:
        """Open the connection that is used for commits."""
        return SqliteWriter(self._connect())

    def open_locks(self) -> FileLocks:
        """Open the locks on calls, in a file next to the ledger."""
        return FileLocks(self._path.with_name(self._path.name + "-claims"))

    def compact(self) -> None:
        """Free the disk space of deleted rows."""
        self._connection().execute("VACUUM")

    def measure(self) -> int:
        """Return the database file's size in bytes, without the write-ahead log."""
        return self._path.stat().st_size

    def close(self) -> None:
        """Close the connections for reading."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._local = threading.local()

    def _connect(self) -> sqlite3.Connection:
        # `close` runs in another thread than the reads, hence check_same_thread=False.
        connection = sqlite3.connect(
            self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        # Bytes that are not valid UTF-8 must damage only one entry, instead of making the file unreadable.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA journal_mode = WAL")
        # A paid call must survive a power failure, not only a killed process. The disk is synchronised only
        # once per group of commits.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            with self._lock:
                self._opened.append(connection)
        return connection


class SqliteWriter:
    """The SQLite connection that is used for commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def commit(self, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction; the changes are on disk on return."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in statements:
                connection.execute(statement, values)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _add_columns(connection: sqlite3.Connection) -> None:
    """Add missing columns to an earlier version's table; other processes may do the same concurrently."""
    there = {row[1] for row in connection.execute("PRAGMA table_info(calls)")}
    for name in ADDED.keys() - there:
        try:
            connection.execute(f"ALTER TABLE calls ADD COLUMN {name} {ADDED[name]}")
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):
                raise


def _keep_private(path: Path) -> None:
    """Make a ledger's files readable only by their owner; SQLite copies the mode to its log files."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for ending in BESIDE:
        with contextlib.suppress(FileNotFoundError, PermissionError):  # another user's file, which is shared
            file = path.with_name(path.name + ending)
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
