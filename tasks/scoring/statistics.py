"""Statistics of comparisons: bootstrap intervals, paired differences, McNemar, Holm, Wilson, power."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tasks.errors import BadInput
from tasks.scoring.metric import FloatArray, IntArray, Sample, count_kinds, divide

Interval = tuple[float, float]

LEAST = 6
"""Of fewer clusters nothing is told of chance: not even if all of five differed the same way, by chance
2 of 2^5 cases, could that be significant at 5%. A bootstrap would say otherwise."""
CELLS_AT_ONCE = 2_000_000
INDICES_AT_ONCE = 100_000
UNITS_PER_KIND = 10
LEVEL = 0.95
NORMAL_QUANTILE = 1.9599639845400545
"""The two-sided LEVEL quantile of the standard normal distribution."""
POWER = 0.8


@dataclass(frozen=True)
class Difference:
    """A paired difference of means, a - b, with its percentile interval and two-sided p value."""

    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class McNemar:
    """A paired comparison of binary outcomes. only_a: items that only system a answers correctly."""

    only_a: int
    only_b: int
    p_value: float


def bootstrap(
    sample: Sample, draws: int = 10_000, seed: int = 0, clusters: IntArray | None = None
) -> dict[str, Interval | None]:
    """Compute each figure's 95% percentile interval over resampled units (items, or groups of them).

    Units are drawn with replacement, as many as there are. Draws in which a figure is undefined are left out
    of its interval; a figure that is never defined gets None. The same seed gives the same intervals,
    whatever the order of the lines. clusters: the cluster of each unit, from 0 on; then whole clusters are
    drawn, and the sample must hold each unit as a kind of its own.
    """
    drawn: dict[str, list[FloatArray]] = {}
    rng = np.random.default_rng(seed)
    drawing = (
        draw_weights(sample.counts, draws, rng) if clusters is None else draw_clusters(clusters, draws, rng)
    )
    for weights in drawing:
        for name, values in sample.figures(weights).items():
            drawn.setdefault(name, []).append(values)
    return {name: find_interval(np.concatenate(parts)) for name, parts in drawn.items()}


def draw_weights(counts: IntArray, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Draw how often each kind of unit is drawn, in blocks of shape (some draws, kinds).

    Drawing n units with replacement from kinds with these counts is a multinomial draw, so equal units need
    not be drawn one by one; if kinds have few units, drawing by index is faster.
    """
    n, kinds = int(counts.sum()), len(counts)
    if not n:
        return
    block = max(1, CELLS_AT_ONCE // kinds)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        if n > UNITS_PER_KIND * kinds:
            yield rng.multinomial(n, counts / n, size=size).astype(np.float64)
        else:
            yield draw_by_index(counts, size, rng)


def draw_clusters(clusters: IntArray, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Draw whole clusters with replacement; how often each unit is drawn, in blocks (some draws, units).

    clusters: the cluster of each unit, from 0 on.
    """
    if len(clusters):
        counts = np.ones(int(clusters.max()) + 1, dtype=np.int64)
        for weights in draw_weights(counts, draws, rng):
            yield weights[:, clusters]


def draw_by_index(counts: IntArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw units one by one and count how often each kind is drawn; shape (draws, kinds)."""
    kind, kinds = np.repeat(np.arange(len(counts)), counts), len(counts)
    weights = np.empty((draws, kinds))
    block = max(1, INDICES_AT_ONCE // max(len(kind), kinds))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        drawn = kind[rng.integers(0, len(kind), (size, len(kind)))] + kinds * np.arange(size)[:, None]
        counted = np.bincount(drawn.ravel(), minlength=size * kinds)
        weights[start : start + size] = counted.reshape(size, kinds)
    return weights


def find_interval(values: FloatArray) -> Interval | None:
    """Compute the 95% percentile interval of the draws that are defined; None if none is."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def compare_paired(
    a: Sequence[float],
    b: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Compare two systems on the same items by a paired bootstrap; groups, if given, are drawn as a whole.

    Args:
        a: one score per item.
        b: the other system's scores of the same items, in the same order.
        groups: the group of each item, if items of a group are not independent.
        draws: how often to resample.
        seed: of the random draws.

    The p value is twice the smaller share of draws on either side of zero, with the observed difference as
    one more draw, so that it is never 0. Raises BadInput for no items or unequal lengths.

    """
    if not len(a) or len(a) != len(b) or (groups is not None and len(groups) != len(a)):
        raise BadInput("paired bootstrap", "wants the same items on both sides, and at least one")
    labels = range(len(a)) if groups is None else groups
    places = {label: n for n, label in enumerate(dict.fromkeys(labels))}
    index = [places[label] for label in labels]
    delta = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    sums = np.bincount(index, weights=delta, minlength=len(places))
    sizes = np.bincount(index, minlength=len(places)).astype(np.float64)
    kinds, counts = count_kinds(np.column_stack([sums, sizes]))
    rng = np.random.default_rng(seed)
    blocks = [weights @ kinds for weights in draw_weights(counts, draws, rng)]
    drawn = np.concatenate([divide(block[:, 0], block[:, 1]) for block in blocks])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    beyond = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    return Difference(float(delta.mean()), float(low), float(high), min(1.0, 2 * (beyond + 1) / (draws + 1)))


def compare_outcomes(a: Sequence[bool], b: Sequence[bool]) -> McNemar:
    """Compare two systems' correct and wrong answers to the same items by McNemar's exact test.

    Raises BadInput for unequal lengths.
    """
    from scipy.stats import binomtest

    if len(a) != len(b):
        raise BadInput("McNemar's test", "wants the same items on both sides")
    pairs = list(zip(a, b, strict=True))
    only_a, only_b = pairs.count((True, False)), pairs.count((False, True))
    differing = only_a + only_b
    return McNemar(only_a, only_b, float(binomtest(only_a, differing).pvalue) if differing else 1.0)


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for multiple comparisons by Holm's step-down method, in the given order."""
    order = np.argsort(p_values, kind="stable")
    multiplied = np.asarray(p_values, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return [float(p) for p in adjusted]


def find_wilson_interval(successes: int, trials: int) -> Interval:
    """Compute Wilson's 95% score interval of a proportion (Wilson 1927). trials: at least 1.

    scipy's differs only at an end of 0 or 1, where this one may have a rounding error (5.55e-17): published
    figures contain that digit, so the order of the operations must stay.
    """
    z = NORMAL_QUANTILE
    share = successes / trials
    denominator = 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / denominator
    reach = z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / denominator
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def find_clustered_error(delta: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Compute the standard error of a mean of paired differences, robust to dependence within clusters.

    With N items in G clusters, S_g the sum and n_g the number of a cluster's differences, m their mean:
    sqrt(G / (G - 1) * sum_g (S_g - n_g m)^2) / N. None for fewer than two clusters.
    """
    places = {label: number for number, label in enumerate(dict.fromkeys(clusters))}
    if len(places) < 2:
        return None
    index = [places[label] for label in clusters]
    values = np.asarray(delta, dtype=np.float64)
    residuals = np.bincount(index, weights=values - values.mean(), minlength=len(places))
    scale = len(places) / (len(places) - 1)
    return sqrt(scale * float(np.square(residuals).sum())) / len(values)


def find_detectable(error: float | None, clusters: int, alpha: float, power: float = POWER) -> float | None:
    """Compute the smallest true difference that a two-sided test at `alpha` finds with this power.

    (t(1 - alpha / 2) + t(power)) * error, with quantiles of Student's t of clusters - 1 degrees of freedom
    (Bloom 1995). None without an error, or where it is 0: items that all differ alike tell nothing of chance.
    """
    from scipy.stats import t

    if not error or clusters < 2:
        return None
    quantiles = t.ppf([1 - alpha / 2, power], clusters - 1)
    return float(quantiles.sum() * error)
