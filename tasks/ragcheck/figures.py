"""Means, correlations and agreement with 95% bootstrap intervals, and p values adjusted by Holm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from tasks.scoring.agreement import RatingAccumulator
from tasks.scoring.correlation import PairAccumulator, PairSample, ScorePair
from tasks.scoring.metric import IntArray, MeanAccumulator, MeanSample, Sample, Score
from tasks.scoring.statistics import bootstrap, correct_holm, find_wilson_interval
from tasks.settings import Settings


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% bootstrap interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """(low, high), or None without an interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


NOTHING = Estimate(None, None, None)
SCORED = Score({})
DIGITS = 10


class Resampling(Settings):
    """Parameters of the bootstrap."""

    draws: int = Field(default=10_000, ge=1)
    seed: int = 0


def round_figure(value: float | None) -> float | None:
    """Round a figure to 10 significant digits; NaN becomes None."""
    return None if value is None or math.isnan(value) else float(f"{value:.{DIGITS}g}")


def estimate_mean(
    values: Sequence[float], resampling: Resampling, groups: Sequence[str] | None = None
) -> Estimate:
    """Estimate a mean with its interval; NOTHING if there are no values.

    groups: the group of each value; groups are drawn whole. None: every value is drawn by itself.
    """
    if not values:
        return NOTHING
    clusters = _find_clusters(groups)
    if clusters is not None:
        column = np.array(values, dtype=np.float64)[:, np.newaxis]
        sample = MeanSample(("mean",), frozenset(), column, np.ones(len(values), dtype=np.int64))
        return _estimate(sample, resampling, clusters)["mean"]
    accumulator = MeanAccumulator(("mean",))
    for value in values:
        accumulator.add(None, Score({"mean": value}))
    return _estimate(accumulator.sample(), resampling)["mean"]


def estimate_share(hits: Sequence[bool], groups: Sequence[str], resampling: Resampling) -> Estimate:
    """Estimate a share, 0 to 1, drawing groups whole; NOTHING if nothing was tried.

    A share of 0 or 1, to which a bootstrap is blind, has Wilson's interval over so many groups.
    """
    found = estimate_mean([float(hit) for hit in hits], resampling, groups)
    if found.value not in (0, 1):
        return found
    trials = len(set(groups))
    low, high = find_wilson_interval(int(found.value) * trials, trials)
    return Estimate(found.value, round_figure(low), round_figure(high))


def correlate_with_people(
    pairs: Sequence[tuple[float, float]], resampling: Resampling, groups: Sequence[str] | None = None
) -> dict[str, Estimate]:
    """Estimate the correlation of (person, measure) pairs, keyed `pearson` and `spearman`, -1 to 1.

    groups: the group of each pair; groups are drawn whole.
    """
    accumulator = PairAccumulator()
    for person, measured in pairs:
        accumulator.add(ScorePair((person,), measured), SCORED)
    sample, clusters = accumulator.sample(), _find_clusters(groups)
    if clusters is not None:
        people, measures = np.array(pairs, dtype=np.float64).T
        sample = PairSample(people, measures, np.ones(len(pairs), dtype=np.int64))
    estimates = _estimate(sample, resampling, clusters) if pairs else {}
    return {name: estimates.get(name, NOTHING) for name in ("pearson", "spearman")}


def measure_agreement(items: Sequence[Sequence[float | None]], resampling: Resampling) -> Estimate:
    """Estimate Krippendorff's alpha (ordinal). items: per item, each rater's rating or None if missing."""
    accumulator = RatingAccumulator("ordinal")
    for item in items:
        if sum(rating is not None for rating in item) > 1:
            accumulator.add(tuple(item), SCORED)
    return _estimate(accumulator.sample(), resampling)["krippendorff"] if accumulator.items else NOTHING


def adjust_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p values of a family of tests by Holm; None stays None."""
    adjusted = iter(correct_holm([p_value for p_value in p_values if p_value is not None]))
    return [None if p_value is None else round_figure(next(adjusted)) for p_value in p_values]


def number_groups(groups: Sequence[str]) -> IntArray:
    """Return the number of each unit's group, from 0 on."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return np.array([numbers[group] for group in groups], dtype=np.int64)


def _find_clusters(groups: Sequence[str] | None) -> IntArray | None:
    """Return the number of each unit's group; None if each unit is a group of its own."""
    return None if groups is None or len(set(groups)) == len(groups) else number_groups(groups)


def _estimate(
    sample: Sample, resampling: Resampling, clusters: IntArray | None = None
) -> Mapping[str, Estimate]:
    values = sample.figures(sample.counts[np.newaxis, :].astype(np.float64))
    intervals = bootstrap(sample, resampling.draws, resampling.seed, clusters)
    estimates = {}
    for name, (value,) in values.items():
        low, high = intervals[name] or (None, None)
        rounded = round_figure(float(value))
        estimates[name] = (
            NOTHING if rounded is None else Estimate(rounded, round_figure(low), round_figure(high))
        )
    return estimates
