"""Which process is asking a call just now, so that no other pays for it at the same time.

A claim is a lock on one byte of a file beside the ledger, at an offset that the call's key gives.
The kernel takes it back when its process ends, however that ends, so a claim is never stale.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class Claims:
    """The claims of one process on calls of one ledger.

    One object a process and file: closing any opening of a file drops all its locks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self, key: str) -> bool:
        """Claim a call; False where another process has it. What this process has, it gets again."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, find_offset(key))
        except BlockingIOError:
            return False
        return True

    def release(self, key: str) -> None:
        """Give a claim back; nothing where there is none."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, find_offset(key))

    def close(self) -> None:
        """Give all claims back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def find_offset(key: str) -> int:
    """Give the byte that stands for a key: its first 60 bits. Two keys in one only wait for each other."""
    return int(key[:15], 16)
