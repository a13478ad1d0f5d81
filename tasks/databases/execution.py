"""Run model-written SQL on a snapshot: one SELECT, in a separate process, within limits."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pydantic import Field

from tasks.databases.child import ReaderProcess
from tasks.databases.entry import DatabaseEntry
from tasks.databases.messages import ReaderRequest
from tasks.databases.servers.server import DatabaseServer
from tasks.databases.snapshot import Snapshot
from tasks.databases.values import Value
from tasks.errors import SqlError, SqlTimeout, SqlTooLarge
from tasks.settings import Settings


class QueryLimits(Settings):
    """The resource limits of one statement."""

    timeout_s: float = Field(default=5.0, gt=0)
    """Seconds that one query may run."""
    rows: int = Field(default=10_000, gt=0)
    """Maximum number of rows in a result. Streamed results have no row limit."""
    bytes: int = Field(default=10_000_000, gt=0)
    """Maximum size in bytes of a result, a streamed batch or an intermediate value."""
    memory_mb: int = Field(default=256, ge=64)
    """Maximum memory of the process, in MiB."""
    disk_mb: int = Field(default=0, ge=0)
    """Maximum size of temporary files for sorting, in MiB; 0 sorts in memory."""


@dataclass(frozen=True)
class QueryResult:
    """A result table. Blobs are represented as hex digits, and infinite numbers as text."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    types: tuple[str, ...] = ()
    """The engine's name for the type of each column on a server. Array types end with `[]`.

    The name of an unknown type is empty. On SQLite, the tuple is empty.
    """


class SafeDatabase:
    """A database on which untrusted SQL can be run safely; use it as a context manager.

    Statements are in the dialect of the database's engine: SQLite, PostgreSQL or MariaDB. The class is
    thread-safe: each statement runs in one of at most `children` reusable processes. `any_account`: accept a
    server account with write access; statements still cannot write.
    """

    def __init__(
        self,
        database: DatabaseEntry | Path,
        limits: QueryLimits | None = None,
        *,
        children: int = 2,
        any_account: bool = False,
    ) -> None:
        entry = database if isinstance(database, DatabaseEntry) else DatabaseEntry(file=database)
        self.limits = limits or QueryLimits()
        self.dialect = entry.dialect
        self._source = (
            Snapshot(entry.locate_file()) if entry.url is None else DatabaseServer(entry, any_account)
        )
        self._idle: queue.LifoQueue[ReaderProcess] = queue.LifoQueue()
        self._seats = threading.BoundedSemaphore(children)
        self._closed = False

    def query(self, sql: str, parameters: Sequence[Value] = (), clock: int | None = None) -> QueryResult:
        """Run one SELECT and return its whole result.

        `parameters`: values for the question marks of a SQLite statement. `clock`: the current time for a
        statement on MariaDB, as a Unix timestamp in seconds; None uses the real time.

        The time limit includes parsing, and a call exceeds it by at most one second. Raises SqlRefused,
        SqlTimeout, SqlTooLarge or SqlFailed with a one-line message. Raises BadInput if the file has changed
        since it was opened, and DatabaseGone if the server stops answering.
        """
        rows = self.limits.rows + 1  # one more row shows that the result is too large
        request: ReaderRequest = {"sql": sql, "parameters": list(parameters), "rows": rows, "whole": True}
        request["clock"] = clock
        with self._borrow() as child:
            reply = child.ask(request, self.limits.timeout_s)
        if len(reply["rows"]) > self.limits.rows:
            raise SqlTooLarge(f"the result has more than {self.limits.rows:,} rows")
        rows_read = [tuple(row) for row in reply["rows"]]
        return QueryResult(tuple(reply["columns"]), rows_read, tuple(reply.get("types", ())))

    def stream(
        self, sql: str, batch: int = 4096, parameters: Sequence[Value] = ()
    ) -> Iterator[list[tuple[Value, ...]]]:
        """Run one SELECT and yield its rows in batches; only one batch at a time is in memory.

        The time limit covers the execution of all batches, but not the caller's work between batches.
        Raises the same errors as `query`. Queries that run between batches need a second child process.
        """
        request: ReaderRequest = {"sql": sql, "parameters": list(parameters), "rows": batch, "whole": False}
        left = self.limits.timeout_s
        late = f"the query did not finish within {left:.3g} s of execution time"
        with self._borrow() as child:
            more = True
            while more:
                began = time.monotonic()
                try:
                    reply = child.ask(request, left)
                except SqlTimeout:
                    raise SqlTimeout(late) from None
                left -= time.monotonic() - began
                more, request = reply["more"], {"rows": batch}
                if more and left <= 0:
                    raise SqlTimeout(late)
                if reply["rows"]:
                    yield [tuple(row) for row in reply["rows"]]

    def close(self) -> None:
        """Kill the idle processes; a busy process ends after its statement."""
        self._closed = True
        while not self._idle.empty():
            self._idle.get_nowait().kill()
        self._source.close()

    def __enter__(self) -> SafeDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _borrow(self) -> Iterator[ReaderProcess]:
        with self._seats:
            self._source.check()
            try:
                child = self._idle.get_nowait()
            except queue.Empty:
                limits = self.limits
                child = ReaderProcess(
                    self._source.program,
                    memory=limits.memory_mb << 20,
                    disk=limits.disk_mb << 20,
                    max_bytes=limits.bytes,
                )
            try:
                yield child
            except (SqlError, GeneratorExit):
                # An abandoned stream leaves a statement open, which the next request closes.
                self._give_back(child)
                raise
            except BaseException:
                # After an interrupt between request and reply, the next reply would not match its request.
                child.kill()
                raise
            self._source.check()
            self._give_back(child)

    def _give_back(self, child: ReaderProcess) -> None:
        if self._closed:
            child.kill()
        elif child.usable:
            self._idle.put(child)
