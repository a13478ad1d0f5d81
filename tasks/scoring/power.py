"""The power of a paired comparison: the standard error over clusters, and what difference it shows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import sqrt

import numpy as np

POWER = 0.8


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
