"""Draw rows as the data is made: rows of one SQL template share their texts, and are drawn together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tasks.scoring.metric import IntArray
from tasks.scoring.statistics import find_wilson_interval

FEW = 20
"""Below so many clusters, intervals of a bootstrap are narrower than they should be; pages say so."""
COUNTS = frozenset({"gap_groups", "robust_groups", "non_robust_groups"})


def number_clusters(names: Iterable[str]) -> IntArray:
    """Give each unit the number of its cluster, from 0 on, as they are met; shape (units,)."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def widen_ends(figures: Mapping[str, Any], intervals: dict[str, Any], clusters: int) -> None:
    """Replace intervals of no width at 0 or 1, to which a bootstrap is blind, by Wilson's over the clusters.

    figures, intervals: a report's, nested alike; the intervals are changed in place.
    """
    for name, interval in intervals.items():
        if isinstance(interval, dict):
            widen_ends(figures[name], interval, clusters)
        elif name in COUNTS or interval is None or interval[0] != interval[1]:
            continue
        elif figures[name] in (0, 1):
            intervals[name] = list(find_wilson_interval(int(figures[name]) * clusters, clusters))
