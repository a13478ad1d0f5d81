"""Soft F1 for SQL: cell-wise agreement of predicted and gold results (BIRD's mini-dev)."""

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

    Input lines, options and outcomes are the same as for `execution` with the rule `bird`. A predicted query
    that raises an error or does not finish within `timeout` seconds scores 0. If the gold query does not run,
    the item counts as failed. In a test suite, only the published database is queried.
    """

    name: ClassVar[str] = "soft-f1"
    rules: ClassVar[tuple[str, ...]] = ()

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("soft_f1",))

    def make_pair(self, rule: str, item: QueryItem, prediction: str) -> QueryPair:
        """Return the pair of queries to compare."""
        return QueryPair("bird", item.uris[:1], item.gold, prediction, soft=True)

    def score_verdict(self, verdict: SqlVerdict) -> Score:
        """Convert a verdict on a pair of queries to a score."""
        soft_f1 = read_soft_f1(verdict)
        if soft_f1 is None:
            return Score({}, "failed", verdict.outcome)
        return Score({"soft_f1": soft_f1}, outcome=verdict.outcome)


def read_soft_f1(verdict: SqlVerdict) -> float | None:
    """Return the soft F1 of a pair; 0 if the predicted query fails, None if the gold query fails."""
    return None if verdict.outcome.score is None else verdict.soft_f1 or 0.0
