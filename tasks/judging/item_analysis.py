"""Compute the difficulty and discrimination of a set's items from the scores of several systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.scoring.statistics import Interval, find_mean_interval

LEAST_SYSTEMS = 3
"""Minimum number of systems; with two systems, each correlation is 1, -1 or undefined."""


@dataclass(frozen=True)
class ItemScores:
    """An item with a score from every system.

    scores: one score per system, in the order of the systems; higher is better.
    """

    case: str
    group: str
    question: str
    scores: Sequence[float]


@dataclass(frozen=True)
class SystemMean:
    """A system's mean over the items that have a score from every system.

    interval: the 95% interval; if None, `why` gives the reason.
    """

    system: str
    mean: float
    interval: Interval | None
    why: str


@dataclass(frozen=True)
class AnalysedItem:
    """The statistics of an item.

    - mean: the mean of the item's scores over the systems. A low mean means a difficult item.
    - discrimination: the item-rest correlation, from -1 to 1: Pearson's correlation across systems between
      the item's score and the mean score of all other items. None if all systems have the same score on the
      item, or the same mean on the other items. If the discrimination is negative, better systems tend to
      fail the item.
    """

    case: str
    question: str
    scores: Sequence[float]
    mean: float
    discrimination: float | None


@dataclass(frozen=True)
class ItemAnalysis:
    """The item analysis of a metric over several systems.

    - systems: the systems with their means, in the same order as each item's scores.
    - left_out: number of cases without a score from every system.
    - alike: number of items on which all systems have the same score.
    - best: number of `alike` items whose score is the highest score of any item.
    - worst: number of `alike` items whose score is the lowest score of any item.
    - against: number of items with negative discrimination.
    - mean_discrimination: mean over the items that have a discrimination.
    - items: sorted by discrimination, lowest first; items without discrimination come last.
    """

    section: str
    metric: str
    systems: Sequence[SystemMean]
    n_items: int
    left_out: int
    alike: int
    best: int
    worst: int
    against: int
    mean_discrimination: float | None
    items: Sequence[AnalysedItem]


def analyse_items(
    section: str,
    metric: str,
    systems: Sequence[str],
    items: Sequence[ItemScores],
    left_out: int,
    draws: int,
    seed: int,
) -> ItemAnalysis:
    """Analyse one or more items that have scores from three or more systems.

    draws, seed: the number of samples and the seed of the bootstrap for the means' intervals.
    """
    scores = np.array([item.scores for item in items], dtype=np.float64)  # (items, systems)
    groups = [item.group for item in items]
    means = []
    for name, column in zip(systems, scores.T, strict=True):
        interval, why = find_mean_interval(list(column), groups, of="clusters", draws=draws, seed=seed)
        means.append(SystemMean(name, float(column.mean()), interval, why))
    power = _correlate_with_rest(scores)
    analysed = [
        AnalysedItem(item.case, item.question, item.scores, float(row.mean()), value)
        for item, row, value in zip(items, scores, power, strict=True)
    ]
    alike = [row[0] for row in scores if (row == row[0]).all()]
    told = [value for value in power if value is not None]
    return ItemAnalysis(
        section=section,
        metric=metric,
        systems=means,
        n_items=len(items),
        left_out=left_out,
        alike=len(alike),
        best=alike.count(scores.max()),
        worst=alike.count(scores.min()),
        against=sum(value < 0 for value in told),
        mean_discrimination=sum(told) / len(told) if told else None,
        items=sorted(
            analysed,
            key=lambda item: (item.discrimination is None, item.discrimination or 0.0, item.mean, item.case),
        ),
    )


def _correlate_with_rest(scores: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[float | None]:
    """Return each item's correlation with the systems' means over all other items; None if undefined."""
    others = max(len(scores) - 1, 1)
    rest = (scores.sum(axis=0) - scores) / others
    own, other = (table - table.mean(axis=1, keepdims=True) for table in (scores, rest))
    product = (own * other).sum(axis=1)
    length = np.sqrt((own**2).sum(axis=1) * (other**2).sum(axis=1))
    # Because of rounding, the norm is not exactly zero if all values are equal.
    return [
        max(-1.0, min(1.0, float(top / bottom))) if bottom > 1e-9 else None
        for top, bottom in zip(product, length, strict=True)
    ]


def collect_items(
    questions: Mapping[str, tuple[str, str]], scores: Sequence[Mapping[str, float | None]]
) -> tuple[list[ItemScores], int]:
    """Return the items with a score from every system, and the number of other cases.

    questions: case -> (group, question). scores: for each system, case -> score.
    """
    kept = []
    for case in sorted(questions):
        values = [known.get(case) for known in scores]
        whole = [value for value in values if value is not None]
        if len(whole) == len(values):
            kept.append(ItemScores(case, *questions[case], whole))
    return kept, len(questions) - len(kept)
