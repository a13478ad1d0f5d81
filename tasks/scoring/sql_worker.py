"""The process that runs pairs of queries on SQLite files and compares the results.

tasks.scoring.sql_pool starts the process, which uses only the standard library. The process has read-only
access to database files, reads batches of pairs from stdin, and writes verdicts to stdout. The current step
is in shared memory, so that the parent can detect a query that hangs. Connections and slow results are
cached, because a dataset uses the same databases many times.
"""

from __future__ import annotations

import contextlib
import gc
import json
import marshal
import math
import mmap
import re
import resource
import sqlite3
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from tasks.databases.clock_guard import SUSPECT, ClockGuard, is_suspect
from tasks.limits import limit_cpu
from tasks.scoring.outcome import Outcome
from tasks.scoring.sql_rules import JUDGES, Rows, measure_soft_f1

LENGTH = struct.Struct(">I")
"""Format of a message's prefix, which states the length of the message in bytes."""
POSITION = struct.Struct("=QII")
"""Layout of the position: total number of started steps, index of the pair in the batch, step in the pair."""
GOLD, PREDICTED, COMPARED = range(3)
"""The steps within a pair: the gold query, the predicted query, the comparison."""
CLOCK = "depends on the clock, the time zone or random numbers"
CLOCK_CHECK = "clock-check"
"""A special rule that compares nothing: it only runs the gold query, as `run_gold` does.

The outcome is `gold-error` if the query reads the clock, the time zone or random numbers. The query runs only
if its text or the database's schema may read one of these.
"""
PROGRESS_STEPS = 20_000
"""Number of SQLite instructions between two checks of the time limit."""
KEPT_CONNECTIONS = 24
"""Maximum number of open connections without a clock guard, and of open connections with one."""
OTHER_FILES = 8
"""Maximum number of open files that are not databases."""
KEPT_CELLS = 1_000_000
"""Maximum number of cells in the cache of results."""
KEPT_SECONDS = 0.001
"""Minimum run time in seconds for a query's result to be cached.

Results of faster queries are not worth the memory.
"""
SLOW_SECONDS = 0.1
"""A pair that takes more than this many seconds ends its batch.

Other workers can then process the remaining pairs.
"""
UNDECODABLE = "Could not decode to UTF-8"
DENIED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"})
"""Functions that access files or load code."""
NONDETERMINISTIC = re.compile(r"random|now|current_|strftime|\(\s*\)", re.IGNORECASE)
"""Matches SQL that may depend on random numbers or the clock, including functions without arguments."""
ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_READ})


class QueryOutcome(NamedTuple):
    """The rows of a query; or, if the query failed, `timeout` or `error` with a one-line reason."""

    rows: Rows
    failure: Outcome | None = None
    reason: str = ""
    lost: bool = False
    """Whether memory is exhausted, so that the process must be replaced."""
    types: Sequence[str] = ()
    """The column types, for a query on a server."""


class SqlVerdict(NamedTuple):
    """The result of comparing a pair of queries."""

    outcome: Outcome
    reason: str = ""
    lost: bool = False
    soft_f1: float | None = None
    """Soft F1 on the first database; None if the pair does not request it, or if a query fails."""


class Worker:
    """Compares pairs of queries; caches connections and slow results."""

    def __init__(self, setup: dict[str, Any], page: mmap.mmap) -> None:
        self.seconds: float = setup["seconds"]
        self.heap = setup["memory"] * 3 // 4
        self.page = page
        self.deadline = math.inf
        self.steps = 0
        self.connections: OrderedDict[str, sqlite3.Connection] = OrderedDict()
        self.guards: OrderedDict[str, tuple[sqlite3.Connection, ClockGuard]] = OrderedDict()
        self.suspects: dict[str, bool] = {}
        self.results: OrderedDict[tuple[str, str], QueryOutcome] = OrderedDict()
        self.cells = 0

    def answer(self, batch: list[tuple[str, list[str], str, str, bool, bool]]) -> Iterator[SqlVerdict]:
        """Yield verdicts in the order of the pairs; stop after a slow pair, or if memory is exhausted."""
        limit_cpu(2 * self.seconds + len(batch) * SLOW_SECONDS)
        for place, (rule, uris, gold, predicted, ordered, soft) in enumerate(batch):
            began = time.monotonic()
            verdict = self.judge(place, rule, uris, gold, predicted, ordered, soft)
            yield verdict
            if verdict.lost or time.monotonic() - began > SLOW_SECONDS:
                return

    def judge(
        self, place: int, rule: str, uris: list[str], gold: str, predicted: str, ordered: bool, soft: bool
    ) -> SqlVerdict:
        """Compare two queries on each database, up to the first verdict that is not correct.

        Returns this verdict, or the last verdict if all are correct. `soft`: whether to also compute soft F1,
        on the first database.
        """
        verdict = SqlVerdict(Outcome.ERROR, "there is no database")
        soft_f1 = None
        for number, uri in enumerate(uris):
            verdict = self.judge_one(place, rule, uri, gold, predicted, ordered, soft and not number)
            soft_f1 = verdict.soft_f1 if not number else soft_f1
            if verdict.outcome != Outcome.CORRECT:
                break
        return verdict._replace(soft_f1=soft_f1)

    def judge_one(
        self, place: int, rule: str, uri: str, gold: str, predicted: str, ordered: bool, soft: bool
    ) -> SqlVerdict:
        """Run two queries on one database, and compare the results."""
        self.begin(place, GOLD)
        if rule == CLOCK_CHECK and not self.is_watched(uri, gold):
            return SqlVerdict(Outcome.CORRECT)
        right = self.run_gold(uri, gold)
        if right.failure:
            return SqlVerdict(Outcome.GOLD_ERROR, f"the gold query: {right.reason}", right.lost)
        if rule == CLOCK_CHECK:
            return SqlVerdict(Outcome.CORRECT)
        self.begin(place, PREDICTED)
        given = right if predicted == gold and _is_deterministic(gold) else self.run(uri, predicted)
        if given.failure:
            return SqlVerdict(given.failure, given.reason, given.lost)
        self.begin(place, COMPARED)
        try:
            soft_f1 = measure_soft_f1(right.rows, given.rows) if soft else None
            return SqlVerdict(JUDGES[rule](right.rows, given.rows, ordered), soft_f1=soft_f1)
        except MemoryError:
            return SqlVerdict(Outcome.ERROR, "the comparison needs more memory than it may have", lost=True)

    def begin(self, place: int, step: int) -> None:
        """Write the current step to shared memory, for the parent."""
        self.steps += 1
        POSITION.pack_into(self.page, 0, self.steps, place, step)

    def run_gold(self, uri: str, sql: str) -> QueryOutcome:
        """Run a gold query; return an error if it reads the clock, the time zone or random numbers."""
        if not self.is_watched(uri, sql):
            return self.run(uri, sql)
        self.deadline = time.monotonic() + self.seconds
        if uri not in self.guards:
            if len(self.guards) == KEPT_CONNECTIONS:
                self.guards.popitem(last=False)[1][0].close()
            try:
                # The schema is trusted, so that views can use the guard's functions.
                connection = self.open(uri, trusted="ON")
            except sqlite3.Error as error:
                return QueryOutcome((), Outcome.ERROR, str(error)[:300])
            self.guards[uri] = connection, ClockGuard(connection)
        self.guards.move_to_end(uri)
        connection, guard = self.guards[uri]
        guard.touched = ""
        outcome = self.execute(connection, sql)
        if guard.touched:
            return QueryOutcome((), Outcome.ERROR, f"it {CLOCK}: {guard.touched}()")
        return outcome

    def is_watched(self, uri: str, sql: str) -> bool:
        """Return whether a query may read the clock, the time zone or random numbers.

        The query may read them directly, or through views and generated columns.
        """
        try:
            return SUSPECT.search(sql) is not None or self.may_read_clock(uri)
        except sqlite3.Error:
            return False  # running the query reports the error

    def may_read_clock(self, uri: str) -> bool:
        """Return whether a view or a generated column may read the clock, random numbers or the session."""
        if uri not in self.suspects:
            self.suspects[uri] = is_suspect(self.connect(uri))
        return self.suspects[uri]

    def run(self, uri: str, sql: str) -> QueryOutcome:
        """Run a query, or return its cached result."""
        if kept := self.results.get((uri, sql)):
            self.results.move_to_end((uri, sql))
            return kept
        self.deadline = time.monotonic() + self.seconds
        try:
            outcome = self.execute(self.connect(uri), sql)
        except sqlite3.Error as error:
            outcome = QueryOutcome((), Outcome.ERROR, str(error)[:300])
        if time.monotonic() - self.deadline + self.seconds > KEPT_SECONDS and _is_deterministic(sql):
            self.keep((uri, sql), outcome)
        return outcome

    def execute(self, connection: sqlite3.Connection, sql: str) -> QueryOutcome:
        """Run a query until its deadline; return the rows, or the reason for a failure."""
        try:
            return QueryOutcome(self.fetch(connection, sql))
        except MemoryError:
            return QueryOutcome((), Outcome.ERROR, "the query needs more memory than it may have", lost=True)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            text = str(error)
            if "interrupted" in text and time.monotonic() > self.deadline:
                return QueryOutcome((), Outcome.TIMEOUT, f"no end within {self.seconds:g} s")
            return QueryOutcome((), Outcome.ERROR, text[:300])

    def fetch(self, connection: sqlite3.Connection, sql: str) -> Rows:
        """Fetch all rows of a query. Bytes that are not UTF-8 become surrogates.

        The slower decoder with surrogates is used only if decoding fails, because most databases contain only
        UTF-8.
        """
        try:
            return connection.execute(sql).fetchall()
        except sqlite3.OperationalError as error:
            if not str(error).startswith(UNDECODABLE) or connection.text_factory is not str:
                raise
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        return connection.execute(sql).fetchall()

    def keep(self, key: tuple[str, str], outcome: QueryOutcome) -> None:
        """Cache a result; remove the least recently used results if the cache has too many cells.

        A result with more than an eighth of KEPT_CELLS is not cached.
        """
        size = _count_cells(outcome)
        # One large result must not displace most other results.
        if size > KEPT_CELLS // 8:
            return
        self.results[key] = outcome
        self.cells += size
        while self.cells > KEPT_CELLS:
            self.cells -= _count_cells(self.results.popitem(last=False)[1])

    def connect(self, uri: str) -> sqlite3.Connection:
        """Return the connection to a database, opened on first use."""
        connection = self.connections.get(uri)
        if connection is None:
            connection = self.connections[uri] = self.open(uri)
            if len(self.connections) > KEPT_CONNECTIONS:
                self.connections.popitem(last=False)[1].close()
        else:
            self.connections.move_to_end(uri)
        return connection

    def open(self, uri: str, trusted: str = "OFF") -> sqlite3.Connection:
        """Open a database read-only, and limit its memory use. Raises sqlite3.Error."""
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, cached_statements=16)
        for pragma in (
            f"trusted_schema = {trusted}",
            "query_only = ON",
            "temp_store = MEMORY",
            f"hard_heap_limit = {self.heap}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        # SQLite creates a table-valued function at its first use, in steps that the authorizer would reject.
        for name in ("json_each", "json_tree"):
            connection.execute(f"SELECT 1 FROM {name}('[]')").fetchall()  # noqa: S608 (constants)
        # Without this limit, a query could open other database files with ATTACH.
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(self.heap // 2, 1_000_000_000))
        connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 500)
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(self.is_late, PROGRESS_STEPS)
        return connection

    def is_late(self) -> bool:
        """Return whether the query's time limit has passed; if so, SQLite stops the query."""
        return time.monotonic() > self.deadline


def _is_deterministic(sql: str) -> bool:
    """Return whether the text of a query contains nothing that may depend on random numbers or the clock."""
    return NONDETERMINISTIC.search(sql) is None


def _count_cells(outcome: QueryOutcome) -> int:
    return 1 + (len(outcome.rows) * len(outcome.rows[0]) if outcome.rows else 0)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """SQLite's authorizer callback: allow reading, and all functions except DENIED_FUNCTIONS."""
    if action in ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in DENIED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _drop_privileges(memory: int) -> None:
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 2 * KEPT_CONNECTIONS + OTHER_FILES),
        # A platform without RLIMIT_NPROC sets RLIMIT_CORE twice instead.
        (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
    ):
        # If a platform lacks a limit, SQLite's own heap limit and the parent's timeout still apply.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (limit, limit))


def main() -> None:
    """Process batches until stdin ends or memory is exhausted."""
    # Cached rows contain no reference cycles, and the garbage collector would traverse the rows many times.
    gc.disable()
    setup = json.loads(sys.argv[1])
    page = mmap.mmap(setup["page"], POSITION.size)
    worker = Worker(setup, page)
    _drop_privileges(setup["memory"])
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while header := requests.read(LENGTH.size):
        batch = marshal.loads(requests.read(*LENGTH.unpack(header)))  # noqa: S302 - from our own parent
        verdicts = list(worker.answer(batch))
        body = json.dumps(verdicts).encode()
        replies.write(LENGTH.pack(len(body)) + body)
        replies.flush()
        if verdicts[-1].lost:
            return
