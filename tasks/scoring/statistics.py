"""The one module of statistics: bootstrap and Wilson intervals, paired differences, McNemar, Holm, power.

What is drawn is a cluster: an item, or items that depend on each other. Fewer than LEAST clusters have no
interval and no p value, and no interval is without a width; the reason is given in words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from tasks.errors import BadInput
from tasks.scoring.metric import FloatArray, IntArray, Sample, count_kinds, divide

Interval = tuple[float, float]

LEAST = 6
"""Of fewer clusters nothing is told of chance: not even if all of five differed the same way, by chance
2 of 2^5 cases, could that be significant at 5%. A bootstrap would say otherwise."""
NO_WIDTH = 1e-9
"""What rounding leaves of an interval without a width."""
CELLS_AT_ONCE = 2_000_000
INDICES_AT_ONCE = 100_000
UNITS_PER_KIND = 10
LEVEL = 0.95
NORMAL_QUANTILE = 1.9599639845400545
"""The two-sided LEVEL quantile of the standard normal distribution."""
POWER = 0.8


@dataclass(frozen=True)
class Difference:
    """A paired difference, a - b, with its percentile interval and two-sided p value.

    interval: None where there is none, and why. clusters: how many were drawn. p_value: None of fewer than
    LEAST clusters.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    clusters: int
    why: str = ""


@dataclass(frozen=True)
class McNemar:
    """A paired comparison of binary outcomes. only_a: items that only system a answers correctly.

    p_value: None of fewer than LEAST items.
    """

    only_a: int
    only_b: int
    p_value: float | None


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


def settle_interval(
    interval: Interval | None, clusters: int, of: str, share: float | None = None
) -> tuple[Interval | None, str]:
    """Take out an interval of fewer than LEAST clusters, or without a width; say why.

    A share of 0 or 1, to which a bootstrap is blind, has Wilson's interval over the clusters instead.

    Args:
        interval: of a bootstrap, or Wilson's.
        clusters: how many are drawn; those in the denominator of the figure.
        of: what the clusters are, in the plural.
        share: the figure, if it is a share.

    """
    if clusters >= LEAST and interval is not None:
        if interval[1] - interval[0] >= NO_WIDTH:
            return interval, ""
        if share in (0, 1):
            return find_wilson_interval(int(share) * clusters, clusters), ""
    return None, explain_missing(clusters, of)


def find_share_interval(hits: int, trials: int, of: str) -> tuple[Interval | None, str]:
    """Compute Wilson's interval of a share; None and why of too few trials. trials: at least 1."""
    return settle_interval(find_wilson_interval(hits, trials), trials, of)


def explain_missing(clusters: int, of: str) -> str:
    """Say why a figure that is defined has no interval. of: what its clusters are, in the plural."""
    return f"fewer than {LEAST} {of}: no interval" if clusters < LEAST else "all the same: no interval"


def find_p_value(drawn: FloatArray, clusters: int) -> float | None:
    """Compute the two-sided p value of drawn differences; None of fewer than LEAST clusters.

    Twice the smaller share of the defined draws on either side of zero, with the observed difference as one
    more draw, so that it is never 0. No p value is below that of all clusters on one side of zero, which
    chance alone gives in 2 of 2^clusters cases.
    """
    defined = drawn[~np.isnan(drawn)]
    if clusters < LEAST or not len(defined):
        return None
    beyond = min(np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0))
    return min(1.0, max(2 * (beyond + 1) / (len(defined) + 1), 2.0 ** (1 - clusters)))


def describe_difference(
    difference: float, drawn: FloatArray, clusters: int, of: str = "clusters"
) -> Difference:
    """Make a difference from its draws. clusters: those with an item in it; of: what they are."""
    interval, why = settle_interval(find_interval(drawn), clusters, of)
    return Difference(difference, interval, find_p_value(drawn, clusters), clusters, why)


def compare_paired(
    a: Sequence[float],
    b: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    draws: int = 10_000,
    seed: int = 0,
    of: str = "items",
) -> Difference:
    """Compare two systems on the same items by a paired bootstrap; groups, if given, are drawn as a whole.

    Args:
        a: one score per item.
        b: the other system's scores of the same items, in the same order.
        groups: the group of each item, if items of a group are not independent.
        draws: how often to resample.
        seed: of the random draws.
        of: what is drawn, in the plural, for the reason why there is no interval.

    Raises BadInput for no items or unequal lengths.

    """
    if not len(a) or len(a) != len(b) or (groups is not None and len(groups) != len(a)):
        raise BadInput("paired bootstrap", "needs the same items on both sides, and at least one")
    labels = range(len(a)) if groups is None else groups
    delta = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    drawn = draw_means(delta, labels, draws, seed)
    return describe_difference(float(delta.mean()), drawn, len(set(labels)), of)


def find_mean_interval(
    values: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    of: str,
    share: bool = False,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[Interval | None, str]:
    """Compute a mean's interval by a bootstrap that draws groups whole; None and why where there is none.

    values: at least one. groups: the group of each value; None: each is drawn by itself. of: what is drawn.
    share: whether the mean is a share, as for `settle_interval`.
    """
    labels = range(len(values)) if groups is None else groups
    numbers = np.asarray(values, dtype=np.float64)
    drawn = draw_means(numbers, labels, draws, seed)
    mean = float(numbers.mean()) if share else None
    return settle_interval(find_interval(drawn), len(set(labels)), of, mean)


def draw_means(values: FloatArray, labels: Iterable[Hashable], draws: int, seed: int) -> FloatArray:
    """Draw means of values over whole clusters; shape (draws,). labels: the cluster of each value."""
    index = number_clusters(labels)
    sums, sizes = np.bincount(index, weights=values), np.bincount(index).astype(np.float64)
    kinds, counts = count_kinds(np.column_stack([sums, sizes]))
    drawing = draw_weights(counts, draws, np.random.default_rng(seed))
    blocks = [weights @ kinds for weights in drawing]
    return np.concatenate([divide(block[:, 0], block[:, 1]) for block in blocks])


def compare_outcomes(a: Sequence[bool], b: Sequence[bool]) -> McNemar:
    """Compare two systems' correct and wrong answers to the same items by McNemar's exact test.

    Raises BadInput for unequal lengths.
    """
    from scipy.stats import binomtest

    if len(a) != len(b):
        raise BadInput("McNemar's test", "needs the same items on both sides")
    pairs = list(zip(a, b, strict=True))
    only_a, only_b = pairs.count((True, False)), pairs.count((False, True))
    if len(pairs) < LEAST:
        return McNemar(only_a, only_b, None)
    differing = only_a + only_b
    return McNemar(only_a, only_b, float(binomtest(only_a, differing).pvalue) if differing else 1.0)


def correct_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for multiple comparisons by Holm's step-down method, in the given order.

    None stays None, and counts as no test.
    """
    places = [place for place, p_value in enumerate(p_values) if p_value is not None]
    tested = np.array([p_values[place] for place in places], dtype=np.float64)
    order = np.argsort(tested, kind="stable")
    multiplied = tested[order] * np.arange(len(order), 0, -1)
    corrected = np.minimum(np.maximum.accumulate(multiplied), 1)
    adjusted: list[float | None] = [None] * len(p_values)
    for rank, place in enumerate(order):
        adjusted[places[place]] = float(corrected[rank])
    return adjusted


def number_clusters(labels: Iterable[Hashable]) -> IntArray:
    """Give each unit the number of its cluster, from 0 on, as they are met; shape (units,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


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
    index = number_clusters(clusters)
    number = len(set(clusters))
    if number < 2:
        return None
    values = np.asarray(delta, dtype=np.float64)
    residuals = np.bincount(index, weights=values - values.mean())
    scale = number / (number - 1)
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


def find_needed(error: float | None, pairs: int, clusters: int, alpha: float, distance: float) -> int | None:
    """Compute how many pairs it takes to find a true difference of `distance` with the power of POWER.

    Of clusters of the same size whose differences vary as these do, whose standard error is `error`: the
    least number of them for which `find_detectable` is `distance` or less. None as there.
    """
    if find_detectable(error, clusters, alpha) is None:
        return None

    def is_found(number: int) -> bool:
        found = find_detectable((error or 0) * sqrt(clusters / number), number, alpha)
        return found is not None and found <= distance

    most = 2
    while not is_found(most):
        most *= 2
    needed = bisect_left(range(most + 1), True, lo=2, key=is_found)
    return ceil(needed * pairs / clusters)
