"""Execution accuracy of SQL: compare the results of predicted and gold queries."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tasks.databases.clock import find_clock
from tasks.databases.entry import read_entry
from tasks.databases.snapshot import Snapshot
from tasks.errors import BadInput
from tasks.scoring.items import BadItem, Record, get_optional_text, get_text
from tasks.scoring.metric import FAILED, MeanAccumulator, Metric, Score
from tasks.scoring.outcome import Outcome
from tasks.scoring.reply_readings import LENIENT, RELEASED, check_reading, read_released_sql
from tasks.scoring.sql_pool import QueryPair, SqlPool
from tasks.scoring.sql_text import (
    drop_distinct,
    has_order,
    join_operators,
    keep_first_statement,
    prepare_prediction,
)

if TYPE_CHECKING:
    from tasks.scoring.sql_servers import SqlServers
    from tasks.scoring.sql_worker import SqlVerdict


@dataclass(frozen=True, slots=True)
class QueryItem:
    """A gold query, a predicted query, and the URIs of the test databases, the published database first.

    `uris`: for a database on a server, only the name of the database.
    """

    gold: str
    prediction: str | None
    uris: tuple[str, ...]


@dataclass(frozen=True)
class Execution(Metric[QueryItem]):
    """Execution accuracy: the share of predictions whose result equals the gold query's result.

    - streambench: equal sets of rows, with columns in the same order; an empty result on either side is wrong
      (STREAMBENCH, appendix F.2.1).
    - bird: like streambench, but two empty results are equal (BIRD's evaluation).
    - test-suite: equal multisets of rows under some order of the columns, on every `*.sqlite` file in the
      folder (Zhong et al. 2020). Row order matters only if the gold query has ORDER BY. In both queries,
      `> =`, `< =` and `! =` are parsed as operators. Unless `keep_distinct` is set, DISTINCT is removed and
      only the first statement counts.

    Under every rule, NULL equals NULL, 1 equals 1.0, and text never equals a number. A prediction is wrong if
    its query raises an error or does not finish within `timeout` seconds. If the gold query does not run, the
    item counts as failed. `url`: see SqlServers; databases on servers have no test suite.

    `reading` determines how to extract the query from a prediction: `lenient` (prepare_prediction),
    `released` (read_released_sql), or `none` for text that contains only SQL.
    """

    name: ClassVar[str] = "execution"
    columns: ClassVar[tuple[str, ...]] = ("id", "db_id", "gold", "prediction")
    texts: ClassVar[frozenset[str]] = frozenset({"id", "db_id", "gold", "prediction"})
    rules: ClassVar[tuple[str, ...]] = ("streambench", "bird", "test-suite")

    databases: Path | None = None
    url: str | None = None
    timeout: float = 30.0
    keep_distinct: bool = False
    reading: str = LENIENT

    def __post_init__(self) -> None:
        check_reading(self.reading)
        if not self.timeout > 0:
            raise BadInput("--timeout", "must be more than 0 seconds")
        if self.databases is not None and self.url is not None:
            raise BadInput("score execution", "accepts only one of --databases and --url")
        if self.url is None:
            # A wrong folder is reported before any item is read.
            _ = self.suites
        else:
            read_entry("url", {"url": self.url}).require_driver()

    @cached_property
    def suites(self) -> TestSuites:
        """The test databases, which are opened on demand."""
        if self.databases is None:
            hint = "--databases DIR expects DIR/<db_id>/<db_id>.sqlite"
            raise BadInput("score execution", "needs --databases or --url", hint=hint)
        return TestSuites(self.databases)

    @cached_property
    def dialect(self) -> str:
        """The name of the database engine's dialect in sqlglot."""
        return "sqlite" if self.url is None else read_entry("url", {"url": self.url}).dialect

    def read(self, record: Record) -> QueryItem:
        """Read the queries and the database of an item. Raises BadItem if a field is not valid.

        Also raises BadItem if the text of a gold query for a server shows that the query depends on the
        clock, the session or random numbers, because the result may differ in another run. For a SQLite file,
        such a gold query is detected while the query runs.
        """
        gold, prediction = get_text(record, "gold"), get_optional_text(record, "prediction")
        if self.url is not None and (clock := find_clock(gold, self.dialect)):
            raise BadItem(f"the gold query depends on the clock, the session or random numbers: {clock[:40]}")
        name = get_text(record, "db_id")
        return QueryItem(gold, prediction, (name,) if self.url is not None else self.suites.locate(name))

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("accuracy",))

    def score(
        self, items: Iterable[QueryItem], rules: Sequence[str]
    ) -> Iterator[tuple[QueryItem, tuple[Score, ...]]]:
        """Score a stream of items; the queries of several items run in parallel."""
        waiting: deque[QueryItem] = deque()
        try:
            with self.open_pool() as pool:
                verdicts = pool.judge(self.make_pairs(items, rules, waiting))
                while judged := tuple(islice(verdicts, len(rules))):
                    yield from _pop_missing(waiting, len(rules))
                    yield waiting.popleft(), tuple([self.score_verdict(verdict) for verdict in judged])
                yield from _pop_missing(waiting, len(rules))
        finally:
            if self.url is None:
                self.suites.close()

    def open_pool(self) -> SqlPool | SqlServers:
        """Open a pool to run the queries: worker processes for SQLite files, or `SqlServers` for a server."""
        if self.url is None:
            return SqlPool(workers=os.cpu_count() or 1, seconds=self.timeout)
        from tasks.scoring.sql_servers import SqlServers

        return SqlServers(self.url, seconds=self.timeout)

    def make_pairs(
        self, items: Iterable[QueryItem], rules: Sequence[str], waiting: deque[QueryItem]
    ) -> Iterator[QueryPair]:
        """Yield a pair of queries per rule for each item with a prediction; append all items to `waiting`."""
        for item in items:
            waiting.append(item)
            if item.prediction is not None:
                prediction = self.read_query(item.prediction)
                for rule in rules:
                    yield self.make_pair(rule, item, prediction)

    def read_query(self, prediction: str) -> str:
        """Extract the query from a prediction, according to `reading`."""
        if self.reading == LENIENT:
            return prepare_prediction(prediction)
        return read_released_sql(prediction) if self.reading == RELEASED else prediction

    def score_verdict(self, verdict: SqlVerdict) -> Score:
        """Convert a verdict on a pair of queries to a score."""
        return score_outcome(verdict.outcome)

    def make_pair(self, rule: str, item: QueryItem, prediction: str) -> QueryPair:
        """Return the pair of queries to compare under a rule."""
        if rule != "test-suite":
            return QueryPair(rule, item.uris[:1], item.gold, prediction)
        queries = [join_operators(query) for query in (item.gold, prediction)]
        if not self.keep_distinct:
            dialect = self.dialect
            queries = [drop_distinct(keep_first_statement(query, dialect), dialect) for query in queries]
        return QueryPair(rule, item.uris, queries[0], queries[1], has_order(item.gold, self.dialect))


@cache
def score_outcome(outcome: Outcome) -> Score:
    """Convert a pair's outcome to a score; outcomes without a score count as failed."""
    if outcome.score is None:
        return Score({}, "failed", outcome)
    return Score({"accuracy": outcome.score}, outcome=outcome)


def _pop_missing(waiting: deque[QueryItem], rules: int) -> Iterator[tuple[QueryItem, tuple[Score, ...]]]:
    while waiting and waiting[0].prediction is None:
        yield waiting.popleft(), (FAILED,) * rules


class TestSuites:
    """The test databases in a folder. A file must not change between `locate` and `close`."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise BadInput(
                folder, "is not a folder", hint="--databases DIR expects DIR/<db_id>/<db_id>.sqlite"
            )
        self._folder = folder
        self._snapshots: list[Snapshot] = []
        self._addresses: dict[str, tuple[str, ...]] = {}

    def locate(self, name: str) -> tuple[str, ...]:
        """Return the URIs of a database's files, the published file first.

        Raises BadItem if the published file is missing.
        """
        if name not in self._addresses:
            snapshots = self._open(name)
            self._snapshots += snapshots
            self._addresses[name] = tuple(snapshot.uri for snapshot in snapshots)
        return self._addresses[name]

    def close(self) -> None:
        """Remove temporary copies. Raises BadInput if a file has changed since it was located."""
        for snapshot in self._snapshots:
            snapshot.check()
            snapshot.close()

    def _open(self, name: str) -> list[Snapshot]:
        if name != Path(name).name or name == "..":
            raise BadItem(f"db_id {quote_name(name)} is a path; expected a folder name")
        own = self._folder / name / f"{name}.sqlite"
        try:
            others = sorted(path for path in own.parent.glob("*.sqlite") if path != own)
            return [Snapshot(path) for path in (own, *others)]
        except BadInput as error:
            raise BadItem(str(error)) from error
        except (OSError, ValueError) as error:
            raise BadItem(f"db_id {quote_name(name)} is not a file name: {type(error).__name__}") from error


def quote_name(name: str) -> str:
    """Quote a name for messages, truncated to 80 characters."""
    return repr(name if len(name) <= 80 else f"{name[:80]}…")
