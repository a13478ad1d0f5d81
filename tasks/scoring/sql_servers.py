"""Compare pairs of queries on a database server, in sandboxed processes for model-written SQL."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from urllib.parse import quote

from tasks.databases.conversions import Times, find_conversion
from tasks.databases.entry import DatabaseEntry, read_entry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.reflection import reflect_times
from tasks.errors import BadInput, DatabaseGone, SqlError, SqlTimeout
from tasks.scoring.outcome import Outcome
from tasks.scoring.sql_cells import make_comparable
from tasks.scoring.sql_pool import QueryPair
from tasks.scoring.sql_rules import JUDGES, Rows, measure_soft_f1
from tasks.scoring.sql_worker import QueryOutcome, SqlVerdict

PASSWORD = "BENCHLOOM_DB_PASSWORD"  # noqa: S105 (the name of a variable)
MAX_ROWS = 1_000_000
MAX_BYTES = 100_000_000
"""Maximum numbers of rows (MAX_ROWS) and bytes (MAX_BYTES) in a result."""
OTHER_CLOCKS = (100_161_840, 2_147_483_000)
"""Other clock times for gold queries, in Unix seconds: 5 March 1973, and 19 January 2038, shortly before
32-bit overflow."""
KEPT_DATABASES = 8
"""Maximum number of open databases; each open database has up to one process per thread."""


class SqlServers:
    """A context manager for the databases of a server, with their read-only processes.

    `url`: a SQLAlchemy URL without a password, for PostgreSQL, MariaDB or MySQL; `{db_id}` is replaced with
    each item's db_id. `seconds`: the time limit per query. Raises BadInput if the URL cannot be used.
    """

    def __init__(self, url: str, *, seconds: float = 30.0, threads: int = 4) -> None:
        self._url, self._size = url, threads
        self._limits = QueryLimits(timeout_s=seconds, rows=MAX_ROWS, bytes=MAX_BYTES, memory_mb=1024)
        self._threads = ThreadPoolExecutor(threads)
        self._lock = threading.Lock()
        self._databases: OrderedDict[str, SafeDatabase] = OrderedDict()
        self._times: dict[str, Times] = {}
        # A URL that cannot be used is reported before any query runs.
        self._open("")

    def judge(self, pairs: Iterable[QueryPair]) -> Iterator[SqlVerdict]:
        """Yield a verdict for each pair, in order; a pair's URI is the name of its database.

        Raises BadInput if a database cannot be reached, but never because of a query.
        """
        source = iter(pairs)
        under_way: deque[Future[SqlVerdict]] = deque()
        while True:
            for pair in islice(source, 4 * self._size - len(under_way)):
                under_way.append(self._threads.submit(self._judge_one, pair))
            if not under_way:
                return
            yield under_way.popleft().result()

    def __enter__(self) -> SqlServers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        for database in self._databases.values():
            database.close()

    def _judge_one(self, pair: QueryPair) -> SqlVerdict:
        right = self._run_gold(pair.uris[0], pair.gold)
        if right.failure:
            return SqlVerdict(Outcome.GOLD_ERROR, f"the gold query: {right.reason}")
        given = self._run(pair.uris[0], pair.predicted)
        if given.failure:
            return SqlVerdict(given.failure, given.reason)
        gold, predicted = make_comparable((right.rows, right.types), (given.rows, given.types))
        soft_f1 = measure_soft_f1(gold, predicted) if pair.soft else None
        return SqlVerdict(JUDGES[pair.rule](gold, predicted, pair.ordered), soft_f1=soft_f1)

    def _run_gold(self, name: str, sql: str) -> QueryOutcome:
        """Run a gold query; return an error if its answer depends on the clock.

        MariaDB and MySQL also run the query at OTHER_CLOCKS, and the rows must be equal. PostgreSQL's clock
        cannot be set, so a query that may convert text to a date or time is an error.
        """
        right = self._run(name, sql)
        if right.failure:
            return right
        if self._open(name).dialect == "postgres":
            if found := find_conversion(sql, self._find_times(name)):
                return QueryOutcome((), Outcome.ERROR, f"it may hang on the clock: {found[:80]}")
            return right
        for clock in OTHER_CLOCKS:
            again = self._run(name, sql, clock)
            if again.failure or sort_rows(again.rows) != sort_rows(right.rows):
                return QueryOutcome((), Outcome.ERROR, "it has other rows at another time")
        return right

    def _find_times(self, name: str) -> Times:
        """Return (and cache) the kinds of a database's columns: date, time or other; see `Times`."""
        if name not in self._times:
            self._times[name] = reflect_times(self._read_entry(name))
        return self._times[name]

    def _run(self, name: str, sql: str, clock: int | None = None) -> QueryOutcome:
        database = self._open(name)
        try:
            result = database.query(sql, clock=clock)
            return QueryOutcome(result.rows, types=result.types)
        except SqlTimeout as error:
            return QueryOutcome((), Outcome.TIMEOUT, str(error))
        except SqlError as error:
            return QueryOutcome((), Outcome.ERROR, str(error)[:300])
        except DatabaseGone as error:
            reason = str(error)[:300]
        try:
            # If the server still answers, the query itself ended the connection.
            database.query("SELECT 1")
        except DatabaseGone:
            raise BadInput("--url", f"cannot be reached: {reason}", hint="is the server running?") from None
        return QueryOutcome((), Outcome.ERROR, reason)

    def _open(self, name: str) -> SafeDatabase:
        """Return a database, opened on first use; if too many are open, the least recently used is closed."""
        with self._lock:
            if name not in self._databases:
                self._databases[name] = SafeDatabase(
                    self._read_entry(name), self._limits, children=self._size, any_account=True
                )
            self._databases.move_to_end(name)
            if len(self._databases) > KEPT_DATABASES:
                self._databases.popitem(last=False)[1].close()
            return self._databases[name]

    def _read_entry(self, name: str) -> DatabaseEntry:
        fields = {"url": self._url.replace("{db_id}", quote(name, safe=""))}
        if PASSWORD in os.environ:
            fields["password_env"] = PASSWORD
        return read_entry("url", fields)


def sort_rows(rows: Rows) -> list[str]:
    """Convert rows to sorted strings, because a query without ORDER BY may return rows in any order."""
    return sorted(map(repr, rows))
