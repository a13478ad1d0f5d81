"""Read a SQLite file, and detect changes to it while it is read."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from tasks.databases.child import ReaderProgram
from tasks.errors import BadInput

GRACE_S = 0.3
"""Seconds after the time limit until the reader process is killed. During this time, SQLite can stop the
statement."""
Stamp = tuple[int, int, int]
"""Modification time in nanoseconds, size in bytes and inode of a file."""


class Snapshot:
    """A SQLite file that must not change while it is read.

    A file without a write-ahead log is read in place without locks (`immutable`), and `check` detects
    changes. A file with a write-ahead log is copied first, because a reader without locks ignores the log.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise BadInput(path, "no such database file")
        self.source = path
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if _holds_data(path, "-journal"):
            raise BadInput(path, "has an unfinished transaction", hint="close the program that writes to it")
        self._file = self._copy() if _holds_data(path, "-wal") else path
        self._stamp = _stamp(self._file)

    @property
    def uri(self) -> str:
        """Return the file's URI for a read-only connection without locks."""
        return f"file:{quote(str(self._file.resolve()))}?mode=ro&immutable=1"

    @property
    def program(self) -> ReaderProgram:
        """Return the program that reads the file."""
        return ReaderProgram(str(self.source), "tasks.databases.sqlite_child", {"uri": self.uri}, GRACE_S)

    def check(self) -> None:
        """Raise BadInput if the file has changed since it was opened."""
        if _stamp(self._file) != self._stamp:
            raise BadInput(self.source, "changed while it was being queried", hint="run the stage again")

    def close(self) -> None:
        """Delete the copy of the file, if the file was copied."""
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _copy(self) -> Path:
        self._folder = tempfile.TemporaryDirectory(prefix="benchloom-snapshot-")
        copy = Path(self._folder.name) / "snapshot.sqlite"
        address = f"file:{quote(str(self.source.resolve()))}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(copy)) as new:
                old.backup(new)
                new.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            self.close()
            raise BadInput(self.source, f"cannot be copied: {error}") from error
        return copy


def _holds_data(path: Path, suffix: str) -> bool:
    beside = path.with_name(path.name + suffix)
    # With `journal_mode = TRUNCATE`, an empty journal remains after every transaction.
    return beside.is_file() and beside.stat().st_size > 0


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)
