"""Relative mapping similarity (RMS) of tables (TANQ, section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tasks.scoring.items import Record
from tasks.scoring.metric import FAILED, MeanAccumulator, Metric, Score
from tasks.scoring.rms_paper import compute_paper
from tasks.scoring.rms_released import compute_released
from tasks.scoring.tables import CellTable, get_table


@dataclass(frozen=True, slots=True)
class TablePair:
    """A gold table and the predicted table."""

    gold: CellTable
    prediction: CellTable | None


@dataclass(frozen=True)
class Rms(Metric[TablePair]):
    """Precision, recall and F1 of a predicted table; the corpus figures are unweighted means.

    - released: `rms_released.compute_released`; keys are matched one-to-one by the optimal assignment.
    - paper: `rms_paper.compute_paper`; triplets are matched greedily.

    Both rules score the prediction and its transpose, and use the better score.
    """

    name: ClassVar[str] = "rms"
    rules: ClassVar[tuple[str, ...]] = ("released", "paper")

    def read(self, record: Record) -> TablePair:
        """Read gold and prediction, each a table as text or as a list of rows; prediction may be null."""
        missing = record.get("prediction") is None
        return TablePair(get_table(record, "gold"), None if missing else get_table(record, "prediction"))

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("precision", "recall", "f1"))

    def score_item(self, item: TablePair, rule: str) -> Score:
        """Score one table."""
        if item.prediction is None:
            return FAILED
        compute = compute_released if rule == "released" else compute_paper
        return Score(compute(item.gold, item.prediction)._asdict())
