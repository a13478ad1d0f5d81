"""Estimate means, correlations and agreement with 95% bootstrap intervals, and adjust p values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from pydantic import Field

from tasks.scoring.agreement import RatingAccumulator
from tasks.scoring.correlation import PairSample
from tasks.scoring.metric import IntArray, Sample, Score
from tasks.scoring.running import count_units
from tasks.scoring.statistics import (
    Interval,
    bootstrap,
    correct_holm,
    find_mean_interval,
    number_clusters,
    settle_interval,
)
from tasks.settings import Settings


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% bootstrap interval; undefined values are None.

    why: the reason for a missing interval, if the value is defined.
    """

    value: float | None
    low: float | None
    high: float | None
    why: str = ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval (low, high); None if there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


NOTHING = Estimate(None, None, None)
SCORED = Score({})
DIGITS = 10
"""Number of significant digits of recorded figures."""
CONVERSATIONS = "conversations"


class Resampling(Settings):
    """Parameters of the bootstrap."""

    draws: int = Field(default=10_000, ge=1)
    """Number of bootstrap samples per interval."""
    seed: int = 0
    """The seed of the bootstrap."""


def round_figure(value: float | None) -> float | None:
    """Round a figure to 10 significant digits; NaN becomes None."""
    return None if value is None or math.isnan(value) else float(f"{value:.{DIGITS}g}")


def make_estimate(value: float, interval: Interval | None, why: str) -> Estimate:
    """Round the figures and make an estimate; return NOTHING if the value is NaN."""
    low, high = interval or (None, None)
    rounded = round_figure(value)
    return NOTHING if rounded is None else Estimate(rounded, round_figure(low), round_figure(high), why)


def estimate_mean(
    values: Sequence[float],
    resampling: Resampling,
    groups: Sequence[str] | None = None,
    *,
    share: bool = False,
) -> Estimate:
    """Estimate a mean with its interval; NOTHING if there are no values.

    groups: the conversation of each value; the bootstrap resamples whole conversations. None: every value is
    a separate conversation. share: whether the mean is a fraction, 0 to 1.
    """
    if not values:
        return NOTHING
    found = find_mean_interval(
        values, groups, of=CONVERSATIONS, share=share, draws=resampling.draws, seed=resampling.seed
    )
    return make_estimate(fmean(values), *found)


def correlate_with_people(
    pairs: Sequence[tuple[float, float]], resampling: Resampling, groups: Sequence[str]
) -> dict[str, Estimate]:
    """Estimate the correlations `pearson` and `spearman` of (person, measure) pairs, each from -1 to 1.

    groups: the conversation of each pair; the bootstrap resamples whole conversations.
    """
    if not pairs:
        return dict.fromkeys(("pearson", "spearman"), NOTHING)
    people, measures = np.array(pairs, dtype=np.float64).T
    sample = PairSample(people, measures, np.ones(len(pairs), dtype=np.int64))
    return _estimate(sample, resampling, number_clusters(groups), CONVERSATIONS)


def measure_agreement(items: Sequence[Sequence[float | None]], resampling: Resampling) -> Estimate:
    """Estimate Krippendorff's ordinal alpha; NOTHING if no item has two ratings.

    items: the ratings of each item, one per rater; None if missing.
    """
    accumulator = RatingAccumulator("ordinal")
    for item in items:
        # Alpha compares pairs of ratings, so an item with a single rating does not count.
        if sum(rating is not None for rating in item) > 1:
            accumulator.add(tuple(item), SCORED)
    if not accumulator.items:
        return NOTHING
    return _estimate(accumulator.sample(), resampling, None, "answers")["krippendorff"]


def adjust_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p values of a family of tests with Holm's method, and round them; None stays None."""
    return [round_figure(p_value) for p_value in correct_holm(p_values)]


def _estimate(
    sample: Sample, resampling: Resampling, clusters: IntArray | None, of: str
) -> dict[str, Estimate]:
    """Estimate each figure of a sample. clusters: see `bootstrap`. of: the noun for the clusters."""
    values = sample.figures(sample.counts[np.newaxis, :].astype(np.float64))
    drawn = bootstrap(sample, resampling.draws, resampling.seed, clusters)
    units = count_units(sample, clusters)
    return {
        name: make_estimate(float(value), *settle_interval(drawn[name], units[name], of))
        for name, (value,) in values.items()
    }
