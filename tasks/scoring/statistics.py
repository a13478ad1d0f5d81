"""Compute statistics: bootstrap and Wilson intervals, paired differences, McNemar, Holm, power.

The bootstrap resamples clusters. A cluster is one item, or several items that depend on each other. With
fewer than LEAST clusters, there is no interval and no p value. An interval never has width zero. If an
interval is missing, a message gives the reason.
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
"""Minimum number of clusters for an interval or a p value.

With five clusters, even a difference with the same sign in all clusters is not significant at 5%, because it
occurs by chance in 2 of 2^5 cases. A bootstrap would report this difference as significant.
"""
NO_WIDTH = 1e-9
"""An interval narrower than this counts as having zero width, to allow for rounding errors."""
CELLS_AT_ONCE = 2_000_000
INDICES_AT_ONCE = 100_000
"""Maximum numbers of weights (CELLS_AT_ONCE) and indices (INDICES_AT_ONCE) in memory at a time."""
UNITS_PER_KIND = 10
"""Above this mean number of units per kind (set of equal units), bootstrap sampling is multinomial."""
LEVEL = 0.95
"""The confidence level of all intervals."""
NORMAL_QUANTILE = 1.9599639845400545
"""The two-sided critical value of the standard normal distribution for LEVEL."""
POWER = 0.8
"""The target statistical power: the probability of detecting a true difference."""


@dataclass(frozen=True)
class Difference:
    """A paired difference, a - b, with its percentile interval and two-sided p value.

    `interval`: None if the interval cannot be estimated; `why` then gives the reason. `clusters`: the number
    of resampled clusters. `p_value`: None for fewer than LEAST clusters.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    clusters: int
    why: str = ""


@dataclass(frozen=True)
class McNemar:
    """A paired comparison of binary outcomes.

    `only_a`: number of items that only system a answers correctly. `only_b`: number of items that only system
    b answers correctly. `p_value`: None for fewer than LEAST items.
    """

    only_a: int
    only_b: int
    p_value: float | None


def bootstrap(
    sample: Sample, draws: int = 10_000, seed: int = 0, clusters: IntArray | None = None
) -> dict[str, Interval | None]:
    """Compute each figure's 95% percentile interval over resampled units (items, or groups of items).

    Each resample has as many units as the sample, drawn with replacement. Resamples in which a figure is
    undefined are ignored for that figure; a figure that is never defined gets None. The same seed gives the
    same intervals, regardless of line order.

    `clusters`: the cluster of each unit, numbered from 0. If given, whole clusters are resampled, and each
    unit must be a separate kind of the sample.
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
    """Yield the number of units of each kind in each resample, in blocks of shape (some draws, kinds).

    Sampling n units with replacement from kinds with these counts is multinomial, so equal units need not be
    sampled one by one. If kinds have few units, sampling by index is faster.
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
    """Resample whole clusters with replacement; yield the weight of each unit in each resample.

    The blocks have shape (some draws, units). `clusters`: the cluster of each unit, numbered from 0.
    """
    if len(clusters):
        counts = np.ones(int(clusters.max()) + 1, dtype=np.int64)
        for weights in draw_weights(counts, draws, rng):
            yield weights[:, clusters]


def draw_by_index(counts: IntArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Sample units one by one, and return the number of units of each kind; shape (draws, kinds)."""
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
    """Compute the 95% percentile interval of the defined (not NaN) draws; None if no draw is defined."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def settle_interval(
    interval: Interval | None, clusters: int, of: str, share: float | None = None
) -> tuple[Interval | None, str]:
    """Return the interval, or a replacement, with an empty reason; otherwise return None with the reason.

    The result is None for fewer than LEAST clusters. A zero-width interval is replaced with Wilson's interval
    over the clusters if the figure is a share of 0 or 1; otherwise the result is None.

    `interval`: a bootstrap interval, or Wilson's interval. `clusters`: the number of clusters in the figure's
    denominator. `of`: the plural noun for the clusters. `share`: the figure if it is a share, otherwise None.
    """
    if clusters >= LEAST and interval is not None:
        if interval[1] - interval[0] >= NO_WIDTH:
            return interval, ""
        if share in (0, 1):
            return find_wilson_interval(int(share) * clusters, clusters), ""
    return None, explain_missing(clusters, of)


def find_share_interval(hits: int, trials: int, of: str) -> tuple[Interval | None, str]:
    """Compute Wilson's interval for a share, or return None and the reason. `trials`: at least 1."""
    return settle_interval(find_wilson_interval(hits, trials), trials, of)


def explain_missing(clusters: int, of: str) -> str:
    """Return the reason why a defined figure has no interval. `of`: the plural noun for the clusters."""
    if clusters < LEAST:
        return f"fewer than {LEAST} {of}: no interval"
    return "all values are equal: no interval"


def find_p_value(drawn: FloatArray, clusters: int) -> float | None:
    """Compute the two-sided p value of resampled differences; None for fewer than LEAST clusters.

    The p value is twice the smaller share of the defined resamples on either side of zero. The observed
    difference counts as one more resample, so the p value is never 0. The minimum is 2 / 2^clusters, the
    probability that all clusters are on one side of zero by chance.
    """
    defined = drawn[~np.isnan(drawn)]
    if clusters < LEAST or not len(defined):
        return None
    beyond = min(np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0))
    return min(1.0, max(2 * (beyond + 1) / (len(defined) + 1), 2.0 ** (1 - clusters)))


def describe_difference(
    difference: float, drawn: FloatArray, clusters: int, of: str = "clusters"
) -> Difference:
    """Return a difference with interval and p value. `drawn`: the resampled differences.

    `clusters`: the number of resampled clusters. `of`: the plural noun for the clusters.
    """
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
    """Compare two systems on the same items with a paired bootstrap, over groups if `groups` is given.

    `a`, `b`: each system's scores, one score per item, with the items in the same order. `groups`: the group
    of each item, if items in a group are not independent. `draws`: the number of resamples. `seed`: the
    random seed. `of`: the plural noun for the resampled units, for messages.

    Raises BadInput if `a` is empty or the lengths differ.
    """
    if not len(a) or len(a) != len(b) or (groups is not None and len(groups) != len(a)):
        raise BadInput("paired bootstrap", "needs at least one item, and the same items on both sides")
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
    """Compute a mean's interval with a bootstrap over groups, or return None and the reason.

    `values`: at least one value. `groups`: the group of each value; None resamples individual values. `of`:
    the plural noun for the resampled units. `share`: whether the mean is a share, as for `settle_interval`.
    """
    labels = range(len(values)) if groups is None else groups
    numbers = np.asarray(values, dtype=np.float64)
    drawn = draw_means(numbers, labels, draws, seed)
    mean = float(numbers.mean()) if share else None
    return settle_interval(find_interval(drawn), len(set(labels)), of, mean)


def draw_means(values: FloatArray, labels: Iterable[Hashable], draws: int, seed: int) -> FloatArray:
    """Return the mean of each resample of whole clusters; shape (draws,). `labels`: each value's cluster."""
    index = number_clusters(labels)
    sums, sizes = np.bincount(index, weights=values), np.bincount(index).astype(np.float64)
    kinds, counts = count_kinds(np.column_stack([sums, sizes]))
    drawing = draw_weights(counts, draws, np.random.default_rng(seed))
    blocks = [weights @ kinds for weights in drawing]
    return np.concatenate([divide(block[:, 0], block[:, 1]) for block in blocks])


def compare_outcomes(a: Sequence[bool], b: Sequence[bool]) -> McNemar:
    """Compare two systems' correct and wrong answers to the same items with McNemar's exact test.

    Raises BadInput if the lengths differ.
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
    """Correct p values for multiple comparisons with Holm's step-down method, in the original order.

    A p value of None remains None, and does not count as a test.
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
    """Return the cluster number of each unit, from 0 in order of first appearance; shape (units,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def find_wilson_interval(successes: int, trials: int) -> Interval:
    """Compute Wilson's 95% score interval for a proportion (Wilson 1927). `trials`: at least 1.

    scipy's result differs only if an endpoint is 0 or 1, where this result may have a rounding error
    (5.55e-17). Published figures contain this error, so the order of operations must not change.
    """
    z = NORMAL_QUANTILE
    share = successes / trials
    denominator = 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / denominator
    reach = z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / denominator
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def find_clustered_error(delta: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Compute the cluster-robust standard error of a mean of paired differences.

    The formula is sqrt(G / (G - 1) * sum_g (S_g - n_g m)^2) / N for N items in G clusters. S_g is the sum and
    n_g the number of the differences in cluster g, and m is the mean of all differences. Returns None for
    fewer than two clusters.
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
    """Compute the smallest true difference that a two-sided test at level `alpha` detects with power `power`.

    The formula is (t(1 - alpha / 2) + t(power)) * error, with quantiles of Student's t with clusters - 1
    degrees of freedom (Bloom 1995). Returns None for fewer than two clusters, or if `error` is None or 0.
    With an error of 0, the differences of all items are equal, and their variance cannot be estimated.
    """
    from scipy.stats import t

    if not error or clusters < 2:
        return None
    quantiles = t.ppf([1 - alpha / 2, power], clusters - 1)
    return float(quantiles.sum() * error)


def find_needed(error: float | None, pairs: int, clusters: int, alpha: float, distance: float) -> int | None:
    """Compute the number of pairs needed to detect a true difference of `distance` with the power `POWER`.

    The computation assumes clusters of the same size and variance as the observed clusters. `error`: the
    observed standard error. The result is the smallest number for which `find_detectable` returns `distance`
    or less. Returns None if `find_detectable` returns None. Raises ValueError if `distance` is not positive.
    """
    if distance <= 0:
        raise ValueError(f"distance is {distance}; expected a number above 0")
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
