"""Correlation of a judge's scores with human scores (RAG correctness, section 2.3)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tasks.scoring.items import BadItem, Record, describe_type, is_number
from tasks.scoring.metric import (
    FAILED,
    SKIPPED,
    Accumulator,
    FloatArray,
    IntArray,
    ItemValues,
    Metric,
    Score,
    count_kinds,
    divide,
    to_plain_number,
)

SCORED = Score({})
CELLS_AT_ONCE = 4_000_000
"""Maximum number of pairs to compare at a time, to limit memory."""


@dataclass(frozen=True, slots=True)
class ScorePair:
    """The scores of one item.

    `human`: the scores of one or several raters. `judge`: None if the judge gave no score.
    """

    human: tuple[float, ...]
    judge: float | None


@dataclass(frozen=True)
class Correlation(Metric[ScorePair]):
    """Correlation coefficients and mean scores of human raters and a judge.

    The coefficients are pearson, spearman (Pearson's coefficient of mid-ranks) and kendall (tau-b). The means
    are mean_human and mean_judge. The scores of several raters for one item are averaged. A figure is null if
    it is not defined: for example, a coefficient with fewer than two items or without variation. `drop_zero`:
    skip items with a 0 ("not sure") from the judge or any rater.
    """

    name: ClassVar[str] = "correlation"
    columns: ClassVar[tuple[str, ...]] = ("id", "human", "judge")
    texts: ClassVar[frozenset[str]] = frozenset({"id"})
    own_scale: ClassVar[frozenset[str]] = frozenset(
        {"pearson", "spearman", "kendall", "mean_human", "mean_judge"}
    )

    drop_zero: bool = False

    def read(self, record: Record) -> ScorePair:
        """Read human (a number or a list of numbers) and judge (a number or null).

        Raises BadItem for other types.
        """
        human, judge = record.get("human"), record.get("judge")
        ratings: list[Any] = human if isinstance(human, list) else [human]
        for rating in ratings:
            if not is_number(rating):
                raise BadItem(
                    f"human contains {describe_type(rating)}; expected a number or a list of numbers"
                )
        if not ratings:
            raise BadItem("human is an empty list")
        if judge is not None and not is_number(judge):
            raise BadItem(f"judge is {describe_type(judge)}; expected a number")
        return ScorePair(tuple(ratings), judge)

    def make_accumulator(self, rule: str) -> PairAccumulator:
        """Return an empty accumulator."""
        return PairAccumulator()

    def score_item(self, item: ScorePair, rule: str) -> Score:
        """Return FAILED without a judge's score, SKIPPED for a 0 if `drop_zero` is set, otherwise SCORED."""
        if item.judge is None:
            return FAILED
        return SKIPPED if self.drop_zero and 0 in (*item.human, item.judge) else SCORED


class PairAccumulator(Accumulator[ScorePair]):
    """Collects human and judge scores as columns; items that are not scored are stored as NaN."""

    def __init__(self) -> None:
        self.human = array("d")
        self.judge = array("d")

    def add(self, item: ScorePair, score: Score) -> None:
        """Add one pair of scores; several human scores are averaged."""
        scored = score.state == "scored" and item.judge is not None
        self.human.append(sum(item.human) / len(item.human) if scored else np.nan)
        self.judge.append(item.judge if scored and item.judge is not None else np.nan)

    def sample(self) -> PairSample:
        """Return the scored pairs; equal pairs are merged and counted."""
        rows = np.column_stack([self.human, self.judge])
        kinds, counts = count_kinds(rows[~np.isnan(rows[:, 0])])
        return PairSample(kinds[:, 0], kinds[:, 1], counts)

    def item_values(self) -> Iterator[ItemValues]:
        """Yield each item's mean human score and judge score; None if the item is not scored."""
        for human, judge in zip(self.human, self.judge, strict=True):
            scored = human == human
            yield {
                "mean_human": to_plain_number(human) if scored else None,
                "mean_judge": to_plain_number(judge) if scored else None,
            }


@dataclass(frozen=True)
class PairSample:
    """Distinct pairs of scores and their frequencies (`counts`)."""

    human: FloatArray
    judge: FloatArray
    counts: IntArray

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the coefficients and means for each bootstrap draw; `weights` has shape (draws, kinds)."""
        sizes = weights.sum(axis=1)
        human_ranks, judge_ranks = rank(self.human, weights), rank(self.judge, weights)
        return {
            "pearson": correlate(self.human, self.judge, weights),
            "spearman": correlate(human_ranks, judge_ranks, weights),
            "kendall": compute_tau_b(self.human, self.judge, weights),
            "mean_human": divide(weights @ self.human, sizes),
            "mean_judge": divide(weights @ self.judge, sizes),
        }


def correlate(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute Pearson's coefficient, shape (draws,); x and y have shape (kinds,) or (draws, kinds)."""
    sizes = weights.sum(axis=1, keepdims=True)
    dx = x - divide((weights * x).sum(axis=1, keepdims=True), sizes)
    dy = y - divide((weights * y).sum(axis=1, keepdims=True), sizes)
    products = (weights * dx * dy).sum(axis=1)
    # The deviations of a constant from its mean are rounding errors, not exact zeros.
    varies = spread(x, weights) & spread(y, weights)
    norms = np.sqrt((weights * dx**2).sum(axis=1) * (weights * dy**2).sum(axis=1))
    return np.clip(divide(products, np.where(varies, norms, 0.0)), -1.0, 1.0)


def spread(x: FloatArray, weights: FloatArray) -> npt.NDArray[np.bool_]:
    """Return, for each draw, whether the values with positive weight vary; shape (draws,)."""
    shape = weights.shape
    high = np.max(np.broadcast_to(x, shape), axis=1, where=weights > 0, initial=-np.inf)
    low = np.min(np.broadcast_to(x, shape), axis=1, where=weights > 0, initial=np.inf)
    differs: npt.NDArray[np.bool_] = high > low
    return differs


def rank(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute the values' mid-ranks for each draw, with weights as frequencies; shape (draws, kinds)."""
    _, places = np.unique(x, return_inverse=True)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(places.max(initial=-1) + 1))
    if not len(starts):
        return np.zeros_like(weights)
    totals = np.add.reduceat(weights[:, order], starts, axis=1)
    middle: FloatArray = np.cumsum(totals, axis=1) - totals / 2 + 0.5
    return middle[:, places]


def compute_tau_b(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute Kendall's tau-b, shape (draws,).

    The formula is sum s t / sqrt(sum s^2 sum t^2) over pairs of items (a, b), where s = sign(x_a - x_b) and
    t = sign(y_a - y_b).
    """
    concordant, x_untied, y_untied = (np.zeros(len(weights)) for _ in range(3))
    step = max(1, CELLS_AT_ONCE // max(1, len(x)))
    for start in range(0, len(x), step):
        block = slice(start, start + step)
        signs_x = np.sign(x[block, np.newaxis] - x)
        signs_y = np.sign(y[block, np.newaxis] - y)
        for total, signs in (
            (concordant, signs_x * signs_y),
            (x_untied, signs_x**2),
            (y_untied, signs_y**2),
        ):
            total += ((weights[:, block] @ signs) * weights).sum(axis=1)
    return divide(concordant, np.sqrt(x_untied * y_untied))
