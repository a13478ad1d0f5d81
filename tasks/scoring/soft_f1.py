"""Soft F1 of SQL: how much of the predicted result is the gold query's, cell by cell (BIRD's mini-dev)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tasks.scoring.execution import Execution, QueryItem
from tasks.scoring.metric import MeanAccumulator, Score
from tasks.scoring.sql_pool import QueryPair

if TYPE_CHECKING:
    from tasks.scoring.sql_worker import SqlVerdict


@dataclass(frozen=True)
class SoftF1(Execution):
    """Mean soft F1 of predicted and gold results; see measure_soft_f1 (tasks/scoring/sql_rules.py).

    Lines, options and outcomes are those of `execution` under the rule `bird`. An error or a query that does
    not end in `timeout` seconds is 0; a gold query that does not run makes the item failed. Of a suite the
    published database alone is asked.
    """

    name: ClassVar[str] = "soft-f1"
    rules: ClassVar[tuple[str, ...]] = ()

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Make an empty accumulator."""
        return MeanAccumulator(("soft_f1",))

    def make_pair(self, rule: str, item: QueryItem, prediction: str) -> QueryPair:
        """Make the pair of queries to compare."""
        return QueryPair("bird", item.uris[:1], item.gold, prediction, soft=True)

    def score_verdict(self, verdict: SqlVerdict) -> Score:
        """Convert a pair's verdict to a score."""
        soft_f1 = read_soft_f1(verdict)
        if soft_f1 is None:
            return Score({}, "failed", verdict.outcome)
        return Score({"soft_f1": soft_f1}, outcome=verdict.outcome)


def read_soft_f1(verdict: SqlVerdict) -> float | None:
    """Return the soft F1 of a pair; 0 without a predicted result, None without a gold one."""
    return None if verdict.outcome.score is None else verdict.soft_f1 or 0.0
