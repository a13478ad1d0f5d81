"""Choose a subset of items for a nightly evaluation, and estimate the change in the mean over all items.

Each nightly run evaluates a different subset (part), so that over time all items are evaluated. If a mean
score may have dropped, the run evaluates three parts, and then all items. Only a run that evaluates all items
(a full run) raises an alarm. An item whose score varies more between runs or systems is in more parts.

The leading array axes `...` index independent repetitions. A simulation has many repetitions, and a project
has one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tasks.artifacts.rows import make_id
from tasks.scoring.metric import FloatArray, IntArray
from tasks.scoring.statistics import LEAST, POWER
from tasks.settings import Settings

BoolArray = npt.NDArray[np.bool_]

PRIOR = 8.0
"""The mean variance of all items counts as this many results in the estimate of one item's variance.

An item that did not change in a few runs may still change in the next run.
"""
TURN = (5**0.5 - 1) / 2
"""Shift of the systematic sample's start from one part to the next, as a fraction of the step.

With the golden ratio, any number of consecutive parts is spread evenly over the items.
"""
ROUNDING = 1e-9
"""Tolerance against division by zero, and against rounding errors in sums of probabilities."""


STEPS = {1: 4.0, 3: 1.0}
"""Map the number of parts in each step of a nightly run to a factor for `NightSubset.near`.

If a p value is below the factor times `near`, the run continues with the next step. After the last step, the
run continues with all items.
"""


class NightSubset(Settings):
    """Parameters of nightly runs that evaluate only a part of the items."""

    every: int = Field(default=28, ge=2)
    """Maximum number of nightly runs from one full run to the next."""
    share: float = Field(default=0.1, gt=0, lt=1)
    """Fraction of the items in one part; a part has at least 6 items."""
    near: float = Field(default=0.05, gt=0, le=0.1)
    """P value (one-sided) below which a drop in three parts makes a run evaluate all items.

    Holm's method corrects p values over all metrics. After one part, the run evaluates three parts if a p
    value is below 4 times this level.
    """
    nights: int = Field(default=7, ge=3)
    """Number of past full runs whose scores determine the choice of items and the expected scores.

    The first runs of a project, up to this number, evaluate all items.
    """
    seed: int = 0
    """The seed of the order in which items are assigned to parts."""


def count_part(items: int, share: float) -> int:
    """Return the number of items in a part: all items if there are 6 or fewer."""
    return min(items, max(LEAST, round(share * items)))


def weigh_items(past: FloatArray, metrics: Sequence[str]) -> FloatArray:
    """Compute sampling weights of shape (..., items) from the variation of the items' scores.

    The weight is the square root of the sum of an item's variances over the metrics. A metric's variance is
    computed over systems and runs, and divided by the mean variance of all items. A difference estimator has
    the lowest variance if the sampling probabilities are in proportion to the weights (Neyman 1934). All
    weights are 1 if no item's scores vary.

    past: scores of shape (..., series, runs, items), NaN for unscored items. metrics: the metric of each
    series; series with the same metric belong to different systems.
    """
    total = np.zeros((*past.shape[:-3], past.shape[-1]))
    for metric in dict.fromkeys(metrics):
        rows = past[..., [name == metric for name in metrics], :, :]
        variance = _shrink_variance(rows.reshape(*past.shape[:-3], -1, past.shape[-1]))
        mean = variance.mean(-1, keepdims=True)
        total += np.divide(variance, mean, out=np.zeros_like(variance), where=mean > 0)
    return np.where(total.max(-1, keepdims=True) > 0, np.sqrt(total), 1.0)


def _shrink_variance(rows: FloatArray) -> FloatArray:
    """Compute the items' variances, shrunk towards the mean. rows: scores, shape (..., results, items)."""
    known = ~np.isnan(rows)
    count = known.sum(-2)
    values = np.where(known, rows, 0.0)
    mean = values.sum(-2) / np.maximum(count, 1)
    squares = (np.where(known, rows - mean[..., None, :], 0.0) ** 2).sum(-2)
    freedom = np.maximum(count - 1, 0)
    pooled = squares.sum(-1, keepdims=True) / np.maximum(freedom.sum(-1, keepdims=True), 1)
    shrunk: FloatArray = (squares + PRIOR * pooled) / (freedom + PRIOR)
    return shrunk


def find_chances(weights: FloatArray, number: int) -> FloatArray:
    """Compute each item's probability of being in a part of `number` items.

    The result has the shape (..., items). Probabilities are in proportion to the weights, but at most 1: an
    item with probability 1 is always chosen. The probabilities add up to `number`.
    """
    chances = np.zeros_like(weights)
    certain = np.zeros(weights.shape, dtype=np.bool_)
    while True:
        rest = np.where(certain, 0.0, weights)
        left = number - certain.sum(-1, keepdims=True)
        chances = np.where(certain, 1.0, left * rest / np.maximum(rest.sum(-1, keepdims=True), ROUNDING))
        beyond = ~certain & (chances >= 1)
        if not beyond.any():
            return chances
        certain |= beyond


def order_items(ids: Sequence[str], strata: Sequence[Sequence[Hashable]], seed: int) -> IntArray:
    """Return item positions, of shape (items,), in an order in which items of a stratum are adjacent.

    Strata are sorted by a hash of the name and the seed. Items in a stratum are sorted by a hash of the id
    and the seed. strata: the strata of each item, the widest first, such as (template, group).
    """

    def key(place: int) -> tuple[str, ...]:
        above = [make_id("subset", seed, str(name)) for name in strata[place]]
        return (*above, make_id("subset", seed, ids[place]))

    return np.array(sorted(range(len(ids)), key=key), dtype=np.int64)


def choose_part(chances: FloatArray, order: IntArray, part: int, seed: int) -> BoolArray:
    """Choose the items of a part; return a mask of shape (..., items).

    The method is a systematic sample with unequal probabilities (Madow 1949). The probabilities are added up
    in order, and an item is chosen when the sum passes `start`, `start + 1`, and so on. So each stratum
    contributes its expected number of items, rounded up or down. The start is from 0 to 1, and depends on the
    seed and on `part`. part: the number of the part, from 0.
    """
    digest = make_id("start", seed)
    start = (int(digest, 16) / 16 ** len(digest) + part * TURN) % 1
    sums = np.concatenate([np.zeros((*chances.shape[:-1], 1)), chances[..., order]], -1).cumsum(-1)
    passed = np.floor(sums + (1 - start) + ROUNDING)
    chosen = np.zeros(chances.shape, dtype=np.bool_)
    chosen[..., order] = passed[..., 1:] > passed[..., :-1]
    return chosen


def expect_scores(past: FloatArray) -> FloatArray:
    """Compute each item's mean score over past runs.

    The result has the shape (..., series, items), with NaN for an item without past scores.
    """
    known = ~np.isnan(past)
    count = known.sum(-2)
    total = np.where(known, past, 0.0).sum(-2)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def weigh_parts(chances: FloatArray, order: IntArray, first: int, parts: int, seed: int) -> FloatArray:
    """Return the items' weights for an estimate from `parts` consecutive parts, starting with part `first`.

    The shape is (..., items). Each part weights its items by 1 / probability, and the weights of the
    parts are averaged. Weights add up to 1; items in no part have the weight 0.
    """
    total = np.zeros_like(chances)
    for part in range(first, first + parts):
        chosen = choose_part(chances, order, part, seed)
        weights = np.divide(1.0, chances, out=np.zeros_like(chances), where=chosen & (chances > 0))
        total += weights / weights.sum(-1, keepdims=True)
    mean: FloatArray = total / parts
    return mean


def estimate_change(now: FloatArray, expected: FloatArray, weights: FloatArray) -> FloatArray:
    """Estimate how far the mean over all items changed from its expected value, in units of the score.

    The estimate is the difference estimator with Hajek's weights (Sarndal, Swensson and Wretman 1992,
    sections 6.3 and 5.7): sum_i w_i (y_i - x_i) / sum_i w_i over the parts' items i. Here, w_i is the weight
    from `weigh_parts`, y_i the item's score in the run, and x_i the item's expected score. The estimated mean
    of all items is the mean of all x_i plus the change. Items without a score in the run, or without any
    earlier score, are left out. The result is NaN if no item is left.
    """
    difference = now - expected
    used = np.where(np.isnan(difference), 0.0, np.broadcast_to(weights, difference.shape))
    total = used.sum(-1)
    summed = (used * np.nan_to_num(difference)).sum(-1)
    change: FloatArray = np.divide(summed, total, out=np.full(total.shape, np.nan), where=total > 0)
    return change


@dataclass(frozen=True)
class PartError:
    """The errors of estimates from one part, measured on past runs.

    Both arrays have the shape (..., series) and are in units of the score. spread: root mean square of the
    estimated change. error: root mean square of the estimate minus the true change in the mean. For n parts,
    the spread and the error are divided by the square root of n.
    """

    spread: FloatArray
    error: FloatArray


def check_part(
    past: FloatArray, metrics: Sequence[str], order: IntArray, share: float, seed: int
) -> PartError:
    """Estimate each past run from each of its parts, and measure the errors.

    The choice of items and the expected scores use only the other runs. Otherwise, an item that just changed
    would get too much weight. The spread includes changes that are shared by a cluster or by all items. past:
    scores as in `weigh_items`, for two or more runs.
    """
    nights, items = past.shape[-2:]
    number = count_part(items, share)
    changes, errors = [], []
    for night in range(nights):
        others, now = np.delete(past, night, axis=-2), past[..., night, :]
        chances, expected = find_chances(weigh_items(others, metrics), number), expect_scores(others)
        whole = estimate_change(now, expected, np.ones(items))
        for part in range(ceil(items / number)):
            weights = weigh_parts(chances, order, part, 1, seed)
            changes.append(estimate_change(now, expected, weights[..., None, :]))
            errors.append(changes[-1] - whole)
    return PartError(_square(changes), _square(errors))


def _square(values: Iterable[FloatArray]) -> FloatArray:
    """Compute the root mean square of arrays, ignoring NaN."""
    stacked = np.stack(list(values))
    known = ~np.isnan(stacked)
    squares = np.where(known, stacked, 0.0) ** 2
    root: FloatArray = np.sqrt(squares.sum(0) / np.maximum(known.sum(0), 1))
    return root


def find_fall_chance(change: FloatArray, spread: FloatArray) -> FloatArray:
    """Compute the one-sided p value of a drop: the probability of this change or a lower one by chance.

    Under the null hypothesis, the change is normally distributed around 0 with the spread of past runs. If
    the spread is 0, a drop has the p value 0. If the change is NaN, the p value is 1.
    """
    # Imported here, because the import of SciPy is slow, and few commands need it.
    from scipy.stats import norm

    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = change / spread
    found: FloatArray = np.nan_to_num(norm.cdf(scaled), nan=1.0)
    return found


def find_detectable_drop(spread: float, unit: float, level: float, power: float = POWER) -> float:
    """Compute the smallest drop in the mean that a part detects with this power at this one-sided level.

    The result is the positive solution d of d = z(1 - level) s + z(power) sqrt(s^2 + d u), with the spread s.
    A drop increases the variance of the estimate, because items drop by different amounts. If scores span a
    range r, the added variance is at most d u. Here, u is r sum_i w_i^2, with weights w_i that add up to 1.
    unit: the value of u.
    """
    from scipy.stats import norm

    below, above = norm.ppf([1 - level, power])
    half = below * spread + above**2 * unit / 2
    return float(half + np.sqrt(half**2 - spread**2 * (below**2 - above**2)))
