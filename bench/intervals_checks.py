"""Independent numpy implementations of statistics for `bench.intervals`, and a record of comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isclose, sqrt

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest, norm

Floats = npt.NDArray[np.float64]
LEAST = 6
"""The documented minimum number of clusters for an interval or a p value."""
DRAWS, THEIR_DRAWS, SEED = 20_000, 10_000, 20240601
SLACK = 4 * sqrt(0.025 * 0.975 * (1 / DRAWS + 1 / THEIR_DRAWS))
"""Tolerance for the share of samples beyond a bound (2.5%): four standard errors."""


@dataclass
class Checks:
    """A record of comparisons. counts: by kind. wrong: places that differ. open: places not recomputed."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def add(self, kind: str, place: str, *, same: bool, told: object = "", found: object = "") -> None:
        """Count a comparison."""
        self.counts[kind] += 1
        if not same:
            self.wrong.append(f"{place}: {told} on the page, recomputed {found}")

    def leave_open(self, place: str, why: str) -> None:
        """Record a figure that could not be recomputed, and why."""
        self.open.append(f"{place}: {why}")

    def check_wilson(self, place: str, told: Sequence[float] | None, hits: int, n: int) -> None:
        """Compare Wilson's interval for `hits` successes in `n` independent trials."""
        found = find_wilson(hits, n) if n >= LEAST else None
        self.add("Wilson intervals", place, same=is_close(told, found), told=told, found=found)

    def check_drawn(
        self,
        place: str,
        told: Sequence[float] | None,
        drawn: Floats,
        clusters: int,
        share: float | None = None,
    ) -> None:
        """Compare a bootstrap interval with the samples drawn here. share: the figure, if it is a share."""
        defined = drawn[~np.isnan(drawn)]
        flat = len(defined) == 0 or np.ptp(defined) < 1e-9
        if clusters < LEAST or flat:
            ends = share in (0, 1) and clusters >= LEAST
            found = find_wilson(int(share or 0) * clusters, clusters) if ends else None
            kind = "Wilson intervals" if ends else "cells without an interval"
            self.add(kind, place, same=is_close(told, found), told=told, found=found)
            return
        quantiles = np.quantile(defined, [0.025, 0.975])
        if told is None:
            # If only rare samples differ, the middle 95% may be a single value.
            self.add(
                "cells without an interval", place, same=bool(np.ptp(quantiles) < 1e-9), told=told,
                found=list(quantiles),
            )  # fmt: skip
            return
        low, high = told
        step = 1e-9 + 1e-9 * abs(low)
        fits = (
            np.mean(defined < low - step) <= 0.025 + SLACK
            and np.mean(defined <= low + step) >= 0.025 - SLACK
            and np.mean(defined > high + step) <= 0.025 + SLACK
            and np.mean(defined >= high - step) >= 0.025 - SLACK
            and low < high
        )
        self.add("bootstrap intervals", place, same=bool(fits), told=told, found=list(quantiles))

    def check_p(self, place: str, told: float | None, drawn: Floats, clusters: int) -> None:
        """Compare a bootstrap's p value with the p value of the samples drawn here."""
        defined = drawn[~np.isnan(drawn)]
        if clusters < LEAST or not len(defined):
            self.add("cells without a p", place, same=told is None, told=told)
            return
        share = min(np.mean(defined <= 1e-12), np.mean(defined >= -1e-12))
        found = min(1.0, max(2 * (share * DRAWS + 1) / (DRAWS + 1), 2.0 ** (1 - clusters)))
        slack = 8 * sqrt(max(share * (1 - share), 1e-4) * (1 / DRAWS + 1 / THEIR_DRAWS))
        self.add(
            "bootstrap p", place, same=told is not None and abs(told - found) <= slack, told=told, found=found
        )

    def check_mcnemar(self, place: str, told: float | None, a: Sequence[bool], b: Sequence[bool]) -> None:
        """Compare McNemar's exact p value."""
        first = sum(x and not y for x, y in zip(a, b, strict=True))
        differing = sum(x != y for x, y in zip(a, b, strict=True))
        found = binomtest(first, differing).pvalue if differing else 1.0
        self.add(
            "McNemar's p",
            place,
            same=is_near(told, found if len(a) >= LEAST else None),
            told=told,
            found=found,
        )

    def check_holm(
        self, places: Sequence[str], told: Sequence[float | None], tested: Sequence[float]
    ) -> None:
        """Compare Holm's corrected p values of a family of tests."""
        order = sorted(range(len(tested)), key=lambda place: tested[place])
        highest = 0.0
        for rank, place in enumerate(order):
            highest = max(highest, min(1.0, tested[place] * (len(tested) - rank)))
            self.add(
                "Holm's p", places[place], same=is_near(told[place], highest), told=told[place], found=highest
            )


def find_wilson(hits: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval: the roots of (p - share)^2 = z^2 p (1 - p) / n."""
    z2, share = norm.ppf(0.975) ** 2, hits / n
    a, b, c = 1 + z2 / n, -(2 * share + z2 / n), share**2
    root = sqrt(max(b * b - 4 * a * c, 0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def is_close(told: Sequence[float] | None, found: Sequence[float] | None) -> bool:
    """Return whether both intervals are equal, or both are missing."""
    if told is None or found is None:
        return told is None and found is None
    return all(
        isclose(left, other, rel_tol=1e-8, abs_tol=1e-9) for left, other in zip(told, found, strict=True)
    )


def is_near(told: float | None, found: float | None) -> bool:
    """Return whether both numbers are equal, or both are missing."""
    return (
        told is found if told is None or found is None else isclose(told, found, rel_tol=1e-8, abs_tol=1e-12)
    )


def draw_clusters(labels: Sequence[Hashable]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Sample clusters; return each row's cluster, and each cluster's count, shape (draws, clusters)."""
    names = {label: number for number, label in enumerate(sorted(set(labels), key=str))}
    return np.array([names[label] for label in labels]), _draw(len(names))


@cache
def _draw(clusters: int) -> Floats:
    drawing = np.random.default_rng(SEED)
    return drawing.multinomial(clusters, np.full(clusters, 1 / clusters), DRAWS).astype(np.float64)


def draw_ratio(
    over: Sequence[float], under: Sequence[float], labels: Sequence[Hashable]
) -> tuple[Floats, int]:
    """Bootstrap sum(over) / sum(under) over clusters; also count the clusters with a positive `under`."""
    index, weights = draw_clusters(labels)
    tops, bottoms = np.bincount(index, weights=over), np.bincount(index, weights=under)
    return divide(weights @ tops, weights @ bottoms), int((bottoms > 0).sum())


def divide(over: Floats, under: Floats) -> Floats:
    """Divide element by element; a division by zero gives NaN."""
    return np.divide(over, under, out=np.full(len(over), np.nan), where=under > 0)


def draw_coefficient(
    name: str, x: Sequence[float], y: Sequence[float], labels: Sequence[Hashable]
) -> tuple[Floats, int]:
    """Bootstrap the correlation `pearson` or `spearman` over clusters; also return the number of clusters."""
    index, drawn = draw_clusters(labels)
    weights = drawn[:, index]
    a, b = (
        np.broadcast_to(np.asarray(values, float), weights.shape)
        if name == "pearson"
        else _rank(values, weights)
        for values in (x, y)
    )
    total = weights.sum(axis=1)
    a = a - ((weights * a).sum(axis=1) / total)[:, None]
    b = b - ((weights * b).sum(axis=1) / total)[:, None]
    spread = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
    together = (weights * a * b).sum(axis=1)
    return np.divide(together, spread, out=np.full(len(spread), np.nan), where=spread > 1e-9), drawn.shape[1]


def _rank(values: Sequence[float], weights: Floats) -> Floats:
    """Rank values with the given counts per sample, ties by mean rank; shape (draws, values)."""
    kinds, place = np.unique(values, return_inverse=True)
    often = weights @ np.eye(len(kinds))[place]
    ranks: Floats = (np.cumsum(often, axis=1) - often + (often + 1) / 2)[:, place]
    return ranks
