"""DVC's read and write locks per path, shared by the threads of one process, and its run cache.

Both are read past what a killed process left half written.
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
"""An entry is named by its hash; before it is whole it lies under another name in the same folder."""


class WholeFiles:
    """Writes DVC's lock file atomically, so that a full disk never leaves half a file.

    DVC writes that file in place, and with half of it refuses every later run.
    """

    def __init__(self, fs: Any) -> None:
        self.join = fs.join

    @contextmanager
    def open(self, path: str, mode: str = "r", encoding: str = "utf-8") -> Iterator[IO[str]]:
        """Open a text file; one that is written takes its place when the block ends well."""
        if mode == "r":
            with Path(path).open(encoding=encoding) as file:
                yield file
            return
        with write_beside(Path(path)) as draft, draft.open(mode, encoding=encoding) as file:
            yield file


edit_in_place = dvc.rwlock._edit_rwlock


def edit_whole(lock_dir: str, fs: Any, hardlink: bool) -> Any:
    """Edit DVC's lock file as DVC does, through `WholeFiles`."""
    return edit_in_place(lock_dir, WholeFiles(fs), hardlink)


# DVC holds paths for a moment of its own too, in all that it does with a stage.
dvc.rwlock._edit_rwlock = edit_whole


class PathLocks:
    """Holds paths for several stages at once.

    DVC knows a holder by its process and command line, so two of our stages that read the same path
    are one holder to it, and the first to end would release the path under the other. Paths are
    therefore counted here; DVC hears of the first holder and of the last.
    """

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self.file = Path(repo.tmp_dir) / "rwlock"
        self.counts: Counter[tuple[str, str]] = Counter()
        self.groups: list[tuple[ExitStack, frozenset[tuple[str, str]]]] = []
        self.mutex = threading.Lock()

    def find_writers(self) -> bool:
        """Tell at a glance, without DVC's lock on its file, whether another process may be writing paths."""
        try:
            return bool(self.list_written())
        except (ValueError, AttributeError):  # half written, or no lock file: DVC says what it is
            return True

    def list_written(self) -> frozenset[str]:
        """List the paths that other processes write. Raises ValueError, AttributeError for a broken file."""
        try:
            held = json.loads(self.file.read_bytes() or b"{}").get("write") or {}
        except FileNotFoundError:
            return frozenset()
        return frozenset(path for path, holder in held.items() if holder.get("pid") != os.getpid())

    def require_free(self, reads: Sequence[str]) -> None:
        """Check that paths can be read. Raises DVC's LockError where another process writes one of them."""
        with self.hold(reads, []):
            pass

    @contextmanager
    def hold(self, reads: Sequence[str], writes: Sequence[str]) -> Iterator[None]:
        """Hold paths until the block ends. Raises DVC's LockError where another process has one of them."""
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
                        # A path that cannot be released now is free once this process has ended. What is
                        # not let go of here DVC would let go of at the interpreter's end, and hang there.
                        with suppress(OSError, DvcException, AssertionError):
                            group[0].close()


class WholeEntries(StageCache):  # type: ignore[misc] # DVC has no types
    """Restores whole entries alone, where DVC takes the newest file of any name."""

    def _load(self, stage: Any) -> dict[str, Any] | None:
        folder = Path(self._get_cache_dir(key)) if (key := _get_stage_hash(stage)) else None
        if folder is None or not folder.is_dir():
            return None
        whole = [path for path in folder.iterdir() if ENTRY.fullmatch(path.name)]
        newest = max(whole, key=lambda path: path.stat().st_mtime, default=None)
        entry: dict[str, Any] | None = None if newest is None else self._load_cache(key, newest.name)
        return entry
