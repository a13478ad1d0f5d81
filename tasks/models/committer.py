"""One writing thread for a SQLite file with group commit: what arrives during a commit shares the next.

A commit waits for the disk. With many calls in flight, one commit per call would limit the throughput
of the whole layer.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

Statement = tuple[str, tuple[object, ...]]


@dataclass
class _Job:
    statements: Sequence[Statement]
    done: Future[None] = field(default_factory=Future)


class Committer:
    """Runs statements in order on a connection of its own; a job's future is done when it is on disk."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, statements: Sequence[Statement]) -> Future[None]:
        """Queue statements that are committed together."""
        job = _Job(statements)
        job.done.set_running_or_notify_cancel()  # writing a paid reply must not be cancelled
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        return job.done

    def flush(self) -> None:
        """Wait until everything queued is on disk."""
        if self._thread is not None:
            self.submit([]).result()

    def close(self) -> None:
        """Write what is left and end the thread; a later `submit` starts another."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            while (first := self._jobs.get()) is not None:
                jobs, last = self._gather(first)
                try:
                    connection = connection or self._connect()
                    _commit(connection, jobs)
                except Exception as error:  # noqa: BLE001 - raised where the results are awaited
                    for job in jobs:
                        job.done.set_exception(error)
                if last:
                    return
        finally:
            if connection is not None:
                connection.close()

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


def _commit(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            for statement, values in job.statements:
                connection.execute(statement, values)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    for job in jobs:
        job.done.set_result(None)
