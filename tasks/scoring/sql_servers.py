"""Compare pairs of queries on a database server, in read-only transactions with a time limit."""

from __future__ import annotations

import json
import math
import os
import threading
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from itertools import islice
from types import TracebackType
from urllib.parse import quote

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tasks.databases.checking import check_select
from tasks.databases.entry import read_entry
from tasks.errors import BadInput, SqlRefused
from tasks.scoring.sql_pool import QueryPair
from tasks.scoring.sql_rules import JUDGES, Row
from tasks.scoring.sql_worker import QueryOutcome, Verdict

DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
PASSWORD = "BENCHLOOM_DB_PASSWORD"  # noqa: S105 (the name of a variable)
MAX_ROWS = 1_000_000
CANCELLED = {"57014", "1969", "3024"}
"""Error codes of PostgreSQL, MariaDB and MySQL for a query that exceeded the time limit."""


class SqlServers:
    """Connections to a server, one per thread and database; a context manager.

    `url`: a SQLAlchemy URL of PostgreSQL, MariaDB or MySQL without a password; `{db_id}` in it is replaced
    by each item's. `seconds`: the time limit of one query. Raises BadInput for a URL that cannot be used.
    """

    def __init__(self, url: str, *, seconds: float = 30.0, threads: int = 4) -> None:
        self._url, self._seconds, self._size = url, seconds, threads
        self._threads = ThreadPoolExecutor(threads)
        self._local = threading.local()
        self._engines: dict[str, Engine] = {}
        self._opened: list[Connection] = []
        backend = self._make_engine("").dialect.name
        if backend not in DIALECTS:
            raise BadInput("--url", f"{backend} is not supported", hint=f"it may be {', '.join(DIALECTS)}")
        self._backend = backend

    def judge(self, pairs: Iterable[QueryPair]) -> Iterator[Verdict]:
        """Yield a verdict for each pair, in their order; a pair's URI is its database's name.

        Raises BadInput if a database cannot be reached, never for what a query does.
        """
        source = iter(pairs)
        under_way: deque[Future[Verdict]] = deque()
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
        for connection in self._opened:
            connection.close()

    def _judge_one(self, pair: QueryPair) -> Verdict:
        right = self._run(pair.uris[0], pair.gold)
        if right.failure:
            return Verdict("gold-error", f"the gold query: {right.reason}")
        given = self._run(pair.uris[0], pair.predicted)
        if given.failure:
            return Verdict(given.failure, given.reason)
        return Verdict(JUDGES[pair.rule](right.rows, given.rows, pair.ordered))

    def _run(self, name: str, sql: str) -> QueryOutcome:
        try:
            check_select(sql, DIALECTS[self._backend])
        except SqlRefused as error:
            return QueryOutcome((), "error", str(error))
        connection = self._connect(name)
        try:
            self._begin(connection)
            cursor = connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
            rows = [freeze_row(row) for row in cursor.fetchmany(MAX_ROWS + 1)]
            cursor.close()
        except (SQLAlchemyError, ValueError) as error:
            return self._explain(connection, error)
        finally:
            if not connection.invalidated:
                connection.rollback()
        if len(rows) > MAX_ROWS:
            return QueryOutcome((), "error", f"the result has more than {MAX_ROWS:,} rows")
        return QueryOutcome(rows)

    def _begin(self, connection: Connection) -> None:
        """Begin a read-only transaction; limits are set each time, since a query may call `set_config`."""
        if self._backend == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, int(self._seconds * 1000))}")
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            return
        if getattr(connection.dialect, "is_mariadb", False):
            connection.exec_driver_sql(f"SET SESSION max_statement_time = {self._seconds}")
        else:
            connection.exec_driver_sql(f"SET SESSION max_execution_time = {int(self._seconds * 1000)}")
        connection.exec_driver_sql("START TRANSACTION READ ONLY")

    def _explain(self, connection: Connection, error: Exception) -> QueryOutcome:
        cause = error.orig if isinstance(error, DBAPIError) else error
        codes = {str(code) for code in (getattr(cause, "sqlstate", ""), *(cause.args[:1] if cause else ()))}
        if connection.invalidated:
            self._local.__dict__.clear()
        if codes & CANCELLED:
            return QueryOutcome((), "timeout", f"no end within {self._seconds:g} s")
        return QueryOutcome((), "error", " ".join(str(cause).split())[:300])

    def _connect(self, name: str) -> Connection:
        kept: dict[str, Connection] = self._local.__dict__
        if name not in kept:
            engine = self._engines.setdefault(name, self._make_engine(name))
            try:
                kept[name] = engine.connect()
            except SQLAlchemyError as error:
                cause = " ".join(str(getattr(error, "orig", error)).split())[:300]
                raise BadInput(
                    "--url", f"cannot be reached: {cause}", hint="is the server running?"
                ) from None
            self._opened.append(kept[name])
        return kept[name]

    def _make_engine(self, name: str) -> Engine:
        fields = {"url": self._url.replace("{db_id}", quote(name, safe=""))}
        if PASSWORD in os.environ:
            fields["password_env"] = PASSWORD
        return read_entry("url", fields).connect()


def freeze_row(row: Iterable[object]) -> Row:
    """Make a row's cells comparable."""
    return tuple(freeze(cell) for cell in row)


def freeze(cell: object) -> Hashable:
    """Make a cell comparable: NaN equals NaN, arrays become tuples, JSON its text with sorted keys."""
    if isinstance(cell, float | Decimal) and math.isnan(cell):
        return "NaN"
    if isinstance(cell, list):
        return tuple(freeze(element) for element in cell)
    if isinstance(cell, dict):
        return json.dumps(cell, sort_keys=True, default=str)
    return bytes(cell) if isinstance(cell, memoryview | bytearray) else cell
