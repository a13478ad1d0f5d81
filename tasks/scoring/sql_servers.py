"""Compare pairs of queries on a database server, in the processes that run a model's SQL anywhere else."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from urllib.parse import quote

from tasks.databases.entry import read_entry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import BadInput, DatabaseGone, SqlError, SqlTimeout
from tasks.scoring.outcome import Outcome
from tasks.scoring.sql_pool import QueryPair
from tasks.scoring.sql_rules import JUDGES
from tasks.scoring.sql_worker import QueryOutcome, SqlVerdict

PASSWORD = "BENCHLOOM_DB_PASSWORD"  # noqa: S105 (the name of a variable)
MAX_ROWS = 1_000_000
MAX_BYTES = 100_000_000
KEPT_DATABASES = 8
"""Each has up to as many processes as there are threads; a dataset asks one database after the other."""


class SqlServers:
    """Databases of a server, each with its reading processes; a context manager.

    `url`: a SQLAlchemy URL of PostgreSQL, MariaDB or MySQL without a password; `{db_id}` in it is replaced
    by each item's. `seconds`: the time limit of one query. Raises BadInput for a URL that cannot be used.
    """

    def __init__(self, url: str, *, seconds: float = 30.0, threads: int = 4) -> None:
        self._url, self._size = url, threads
        self._limits = QueryLimits(timeout_s=seconds, rows=MAX_ROWS, bytes=MAX_BYTES, memory_mb=1024)
        self._threads = ThreadPoolExecutor(threads)
        self._lock = threading.Lock()
        self._databases: OrderedDict[str, SafeDatabase] = OrderedDict()
        self._open("")

    def judge(self, pairs: Iterable[QueryPair]) -> Iterator[SqlVerdict]:
        """Yield a verdict for each pair, in their order; a pair's URI is its database's name.

        Raises BadInput if a database cannot be reached, never for what a query does.
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
        right = self._run(pair.uris[0], pair.gold)
        if right.failure:
            return SqlVerdict(Outcome.GOLD_ERROR, f"the gold query: {right.reason}")
        given = self._run(pair.uris[0], pair.predicted)
        if given.failure:
            return SqlVerdict(given.failure, given.reason)
        return SqlVerdict(JUDGES[pair.rule](right.rows, given.rows, pair.ordered))

    def _run(self, name: str, sql: str) -> QueryOutcome:
        database = self._open(name)
        try:
            return QueryOutcome(database.query(sql).rows)
        except SqlTimeout as error:
            return QueryOutcome((), Outcome.TIMEOUT, str(error))
        except SqlError as error:
            return QueryOutcome((), Outcome.ERROR, str(error)[:300])
        except DatabaseGone as error:
            reason = str(error)[:300]
        try:
            database.query("SELECT 1")
        except DatabaseGone:
            raise BadInput("--url", f"cannot be reached: {reason}", hint="is the server running?") from None
        return QueryOutcome((), Outcome.ERROR, reason)

    def _open(self, name: str) -> SafeDatabase:
        """Open a database, or return it where it is open; close the one that was not asked for longest."""
        with self._lock:
            if name not in self._databases:
                fields = {"url": self._url.replace("{db_id}", quote(name, safe=""))}
                if PASSWORD in os.environ:
                    fields["password_env"] = PASSWORD
                entry = read_entry("url", fields)
                self._databases[name] = SafeDatabase(
                    entry, self._limits, children=self._size, any_account=True
                )
            self._databases.move_to_end(name)
            if len(self._databases) > KEPT_DATABASES:
                self._databases.popitem(last=False)[1].close()
            return self._databases[name]
