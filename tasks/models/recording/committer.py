"""A writer thread for a ledger with group commit: entries that arrive during a commit share the next commit.

A commit waits for the disk, so with many concurrent calls, a commit per call would limit the throughput of
all model calls.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

Statement = tuple[str, tuple[object, ...]]


class Writer(Protocol):
    """A database connection that commits statements."""

    def commit(self, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction; the changes are on disk on return."""

    def close(self) -> None:
        """Close the connection."""


@dataclass
class _Job:
    statements: Sequence[Statement]
    done: Future[None] = field(default_factory=Future)


class Committer:
    """Runs SQL statements in order, in a writer thread with a separate database connection."""

    def __init__(self, open_writer: Callable[[], Writer]) -> None:
        self._open_writer = open_writer
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, statements: Sequence[Statement]) -> Future[None]:
        """Queue statements for one commit; return a future that is done once the changes are on disk."""
        job = _Job(statements)
        job.done.set_running_or_notify_cancel()  # a paid reply must be written even if the caller cancels
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        return job.done

    def flush(self) -> None:
        """Wait until all queued statements are committed."""
        if self._thread is not None:
            self.submit([]).result()

    def close(self) -> None:
        """Commit the queued statements and end the thread; a later `submit` starts a new thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        writer: Writer | None = None
        try:
            while (first := self._jobs.get()) is not None:
                jobs, last = self._gather(first)
                try:
                    writer = writer or self._open_writer()
                    writer.commit([statement for job in jobs for statement in job.statements])
                except Exception as error:  # noqa: BLE001 - raised where the results are awaited
                    for job in jobs:
                        job.done.set_exception(error)
                else:
                    for job in jobs:
                        job.done.set_result(None)
                if last:
                    return
        finally:
            if writer is not None:
                writer.close()

    def _gather(self, first: _Job) -> tuple[list[_Job], bool]:
        jobs = [first]
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
            if job is None:
                return jobs, True
            jobs.append(job)
