"""DVC's read and write locks per path, shared by the threads of one process."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from dvc.lock import LockError
from dvc.rwlock import rwlock

from tasks.errors import LockHeld


class PathLocks:
    """Holds paths for several stages at once.

    DVC knows a holder by its process and command line, so two of our stages that read the same path
    are one holder to it, and the first to end would release the path under the other. Paths are
    therefore counted here; DVC hears of the first holder and of the last.
    """

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self.counts: Counter[tuple[str, str]] = Counter()
        self.groups: list[tuple[ExitStack, frozenset[tuple[str, str]]]] = []
        self.mutex = threading.Lock()

    @contextmanager
    def hold(self, reads: Sequence[str], writes: Sequence[str]) -> Iterator[None]:
        """Hold paths until the block ends. Raises LockHeld where another process has one of them."""
        wanted = [("read", path) for path in reads] + [("write", path) for path in writes]
        with self.mutex:
            new = [item for item in wanted if not self.counts[item]]
            stack = ExitStack()
            try:
                stack.enter_context(
                    rwlock(
                        self.repo.tmp_dir,
                        self.repo.fs,
                        " ".join(sys.argv),
                        [path for mode, path in new if mode == "read"],
                        [path for mode, path in new if mode == "write"],
                        self.repo.config["core"].get("hardlink_lock", False),
                    )
                )
            except LockError as error:
                raise LockHeld(f"another run holds {str(error).replace(chr(10), ' ')}") from error
            self.groups.append((stack, frozenset(new)))
            self.counts.update(wanted)
        try:
            yield
        finally:
            with self.mutex:
                self.counts.subtract(wanted)
                for group in list(self.groups):
                    if not any(self.counts[item] for item in group[1]):
                        group[0].close()
                        self.groups.remove(group)
