"""Execution accuracy of SQL: what a predicted query gives, against what the gold query gives."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tasks.errors import BadInput
from tasks.scoring.items import Record, get_optional_text, get_text
from tasks.scoring.metric import FAILED, MeanTally, Metric, Score
from tasks.scoring.sql_pool import Pair, SqlPool
from tasks.scoring.sql_suites import Suites
from tasks.scoring.sql_text import drop_distinct, has_order, prepare_prediction

if TYPE_CHECKING:
    from tasks.scoring.sql_servers import SqlServers


@dataclass(frozen=True, slots=True)
class Queries:
    """A gold query and what was predicted, over the databases of a suite, the published one first."""

    gold: str
    prediction: str | None
    uris: tuple[str, ...]


@dataclass(frozen=True)
class Execution(Metric[Queries]):
    """Execution accuracy: the share of predictions whose result is the gold query's.

    - streambench: equal sets of rows, columns in order; an empty result on either side is wrong
      (STREAMBENCH, appendix F.2.1).
    - bird: the same without the clause on empty results (BIRD's evaluation).
    - test-suite: equal bags of rows under some order of the columns, in order of rows iff the gold query
      has ORDER BY, DISTINCT taken out of both, on every `*.sqlite` of the folder (Zhong et al. 2020).

    Under every rule NULL equals NULL, 1 equals 1.0, text is no number, an error or a query that does not
    end in `timeout` seconds is wrong, and a gold query that does not run makes the item failed. A `url` is
    one of SqlServers; its databases have no suite.
    """

    name: ClassVar[str] = "execution"
    rules: ClassVar[tuple[str, ...]] = ("streambench", "bird", "test-suite")

    databases: Path | None = None
    url: str | None = None
    timeout: float = 30.0
    keep_distinct: bool = False

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise BadInput("--timeout", "must be more than 0 seconds")
        if self.databases is not None and self.url is not None:
            raise BadInput("score execution", "takes --databases or --url, and not both")
        if self.url is None:
            _ = self.suites

    @cached_property
    def suites(self) -> Suites:
        """The databases, as they are asked for."""
        if self.databases is None:
            raise BadInput("score execution", "needs --databases or --url", hint="DIR/<db_id>/<db_id>.sqlite")
        return Suites(self.databases)

    def read(self, record: Record) -> Queries:
        """Take the queries, and the databases that db_id names."""
        gold, prediction = get_text(record, "gold"), get_optional_text(record, "prediction")
        name = get_text(record, "db_id")
        return Queries(gold, prediction, (name,) if self.url is not None else self.suites.locate(name))

    def tally(self, rule: str) -> MeanTally:
        """Make an empty tally."""
        return MeanTally(("accuracy",))

    def score(
        self, items: Iterable[Queries], rules: Sequence[str]
    ) -> Iterator[tuple[Queries, tuple[Score, ...]]]:
        """Score a stream, several items at a time."""
        waiting: deque[Queries] = deque()
        with self.open_judges() as pool:
            verdicts = pool.judge(self.pair(items, rules, waiting))
            while judged := tuple(islice(verdicts, len(rules))):
                yield from _pop_missing(waiting, len(rules))
                yield waiting.popleft(), tuple([score_outcome(verdict.outcome) for verdict in judged])
            yield from _pop_missing(waiting, len(rules))
        if self.url is None:
            self.suites.close()

    def open_judges(self) -> SqlPool | SqlServers:
        """Open what runs the queries: worker processes for files, connections to a server."""
        if self.url is None:
            return SqlPool(workers=os.cpu_count() or 1, seconds=self.timeout)
        from tasks.scoring.sql_servers import SqlServers

        return SqlServers(self.url, seconds=self.timeout)

    def pair(self, items: Iterable[Queries], rules: Sequence[str], waiting: deque[Queries]) -> Iterator[Pair]:
        """Give what is to be run for each item and rule; the items themselves wait in `waiting`."""
        for item in items:
            waiting.append(item)
            if item.prediction is not None:
                prediction = prepare_prediction(item.prediction)
                for rule in rules:
                    yield self.pair_by(rule, item, prediction)

    def pair_by(self, rule: str, item: Queries, prediction: str) -> Pair:
        """Give what is to be run under a rule."""
        if rule != "test-suite":
            return Pair(rule, item.uris[:1], item.gold, prediction)
        ordered = has_order(item.gold)
        if self.keep_distinct:
            return Pair(rule, item.uris, item.gold, prediction, ordered)
        return Pair(rule, item.uris, drop_distinct(item.gold), drop_distinct(prediction), ordered)


@cache
def score_outcome(outcome: str) -> Score:
    """Turn what became of a pair into a score; only a gold query that does not run is nobody's score."""
    if outcome == "gold-error":
        return Score({}, "failed", outcome)
    return Score({"accuracy": float(outcome == "correct")}, outcome=outcome)


def _pop_missing(waiting: deque[Queries], rules: int) -> Iterator[tuple[Queries, tuple[Score, ...]]]:
    while waiting and waiting[0].prediction is None:
        yield waiting.popleft(), (FAILED,) * rules
