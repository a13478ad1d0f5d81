"""Let several threads of one process use DVC's run cache and DVC's read and write locks on paths.

Incomplete files that a killed process left behind are ignored.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import dvc.rwlock
from dvc.exceptions import DvcException
from dvc.stage.cache import StageCache, _get_stage_hash

from tasks.files import write_beside

ENTRY = re.compile(r"[0-9a-f]{64}")
"""Matches the file name of a complete cache entry, which is a hash. Incomplete entries have other names."""


class WholeFiles:
    """Writes DVC's file of path locks atomically, so that a full disk never leaves a truncated file.

    DVC writes this file in place, and every later run fails if the file is incomplete.
    """

    def __init__(self, fs: Any) -> None:
        self.join = fs.join

    @contextmanager
    def open(self, path: str, mode: str = "r", encoding: str = "utf-8") -> Iterator[IO[str]]:
        """Open a text file; a file opened for writing is replaced when the block ends without an error."""
        if mode == "r":
            with Path(path).open(encoding=encoding) as file:
                yield file
            return
        with write_beside(Path(path)) as draft, draft.open(mode, encoding=encoding) as file:
            yield file


edit_in_place = dvc.rwlock._edit_rwlock


def edit_whole(lock_dir: str, fs: Any, hardlink: bool) -> Any:
    """Edit DVC's file of path locks as DVC does, but write the file atomically."""
    return edit_in_place(lock_dir, WholeFiles(fs), hardlink)


# Patch DVC, since all DVC operations on stages also lock paths briefly.
dvc.rwlock._edit_rwlock = edit_whole


class PathLocks:
    """Holds path locks for several stages at once.

    DVC identifies a holder by process and command line. All stages of one process are therefore one holder.
    If two stages read the same path, the stage that ends first would release the path for both. This class
    counts the holders of each path, and calls DVC only for the first and the last holder.
    """

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self.file = Path(repo.tmp_dir) / "rwlock"
        self.counts: Counter[tuple[str, str]] = Counter()
        self.groups: list[tuple[ExitStack, frozenset[tuple[str, str]]]] = []
        self.mutex = threading.Lock()

    def find_writers(self) -> bool:
        """Return whether another process may be writing paths; fast, because DVC's file is not locked."""
        try:
            return bool(self.list_written())
        except (ValueError, AttributeError):  # the file is incomplete or invalid: DVC reports the error
            return True

    def list_written(self) -> frozenset[str]:
        """List the paths that other processes write.

        Raises ValueError or AttributeError if DVC's file of path locks is invalid.
        """
        try:
            held = json.loads(self.file.read_bytes() or b"{}").get("write") or {}
        except FileNotFoundError:
            return frozenset()
        return frozenset(path for path, holder in held.items() if holder.get("pid") != os.getpid())

    def require_free(self, reads: Sequence[str]) -> None:
        """Check that paths can be read. Raises DVC's LockError if another process is writing a path."""
        with self.hold(reads, []):
            pass

    @contextmanager
    def hold(self, reads: Sequence[str], writes: Sequence[str]) -> Iterator[None]:
        """Hold the locks of paths until the block ends.

        Raises DVC's LockError if another process holds one of the locks.
        """
        wanted = [("read", path) for path in reads] + [("write", path) for path in writes]
        with self.mutex:
            new = [item for item in wanted if not self.counts[item]]
            stack = ExitStack()
            stack.enter_context(
                dvc.rwlock.rwlock(
                    self.repo.tmp_dir,
                    self.repo.fs,
                    " ".join(sys.argv),
                    [path for mode, path in new if mode == "read"],
                    [path for mode, path in new if mode == "write"],
                    self.repo.config["core"].get("hardlink_lock", False),
                )
            )
            self.groups.append((stack, frozenset(new)))
            self.counts.update(wanted)
        try:
            yield
        finally:
            with self.mutex:
                self.counts.subtract(wanted)
                for group in list(self.groups):
                    if not any(self.counts[item] for item in group[1]):
                        self.groups.remove(group)
                        # A path that cannot be released now is released when this process ends. If the lock
                        # were not closed here, DVC would close it at the interpreter's exit, and hang.
                        with suppress(OSError, DvcException, AssertionError):
                            group[0].close()


class WholeEntries(StageCache):  # type: ignore[misc] # DVC has no types
    """Restores only complete entries of the run cache.

    DVC would restore the newest entry, even if the entry's file is incomplete.
    """

    def _load(self, stage: Any) -> dict[str, Any] | None:
        folder = Path(self._get_cache_dir(key)) if (key := _get_stage_hash(stage)) else None
        if folder is None or not folder.is_dir():
            return None
        whole = [path for path in folder.iterdir() if ENTRY.fullmatch(path.name)]
        newest = max(whole, key=lambda path: path.stat().st_mtime, default=None)
        entry: dict[str, Any] | None = None if newest is None else self._load_cache(key, newest.name)
        return entry
