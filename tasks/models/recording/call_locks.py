"""Locks per model call between processes, so that two processes never pay for the same call.

Beside a file, a lock is a lock on one byte of another file, at an offset computed from the call's key.
The kernel releases it when its process ends, however that ends, so it is never stale.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Protocol


class CallLocks(Protocol):
    """The locks that one process holds on calls of one ledger."""

    def acquire(self, key: str) -> bool:
        """Lock a call; return False if another process holds it. Locking again in this process succeeds."""

    def release(self, key: str) -> None:
        """Release a lock, if it is held."""

    def close(self) -> None:
        """Release all locks."""


class FileLocks:
    """The locks on calls of a ledger that is a file.

    Use one object per process and file: closing any descriptor of a file drops all its locks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self, key: str) -> bool:
        """Lock a call; return False if another process holds it. Locking again in this process succeeds."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, find_offset(key))
        except BlockingIOError:
            return False
        return True

    def release(self, key: str) -> None:
        """Release a lock, if it is held."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, find_offset(key))

    def close(self) -> None:
        """Release all locks."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def find_offset(key: str) -> int:
    """Return a key's byte offset, its first 60 bits. Keys that collide only wait for each other."""
    return int(key[:15], 16)
