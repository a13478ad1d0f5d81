"""Means, correlations and agreement with 95% bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tasks.ragcheck.rows import Estimate
from tasks.scoring.agreement import RatingAccumulator
from tasks.scoring.correlation import PairAccumulator, ScorePair
from tasks.scoring.metric import MeanAccumulator, Sample, Score
from tasks.scoring.statistics import bootstrap

NOTHING = Estimate(None, None, None)
SCORED = Score({})
DIGITS = 10


class Resampling(BaseModel):
    """Parameters of the bootstrap."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draws: int = Field(default=10_000, ge=1)
    seed: int = 0


def round_figure(value: float | None) -> float | None:
    """Round a figure to 10 significant digits; NaN becomes None."""
    return None if value is None or math.isnan(value) else float(f"{value:.{DIGITS}g}")


def estimate_mean(values: Sequence[float], resampling: Resampling) -> Estimate:
    """Estimate a mean with its interval; NOTHING if there are no values."""
    accumulator = MeanAccumulator(("mean",))
    for value in values:
        accumulator.add(None, Score({"mean": value}))
    return _estimate(accumulator.sample(), resampling)["mean"] if values else NOTHING


def correlate_with_people(
    pairs: Sequence[tuple[float, float]], resampling: Resampling
) -> dict[str, Estimate]:
    """Estimate the correlation of (person, measure) pairs, keyed `pearson` and `spearman`, -1 to 1."""
    accumulator = PairAccumulator()
    for person, measured in pairs:
        accumulator.add(ScorePair((person,), measured), SCORED)
    estimates = _estimate(accumulator.sample(), resampling) if pairs else {}
    return {name: estimates.get(name, NOTHING) for name in ("pearson", "spearman")}


def measure_agreement(items: Sequence[Sequence[float | None]], resampling: Resampling) -> Estimate:
    """Estimate Krippendorff's alpha (ordinal). items: per item, each rater's rating or None if missing."""
    accumulator = RatingAccumulator("ordinal")
    for item in items:
        if sum(rating is not None for rating in item) > 1:
            accumulator.add(tuple(item), SCORED)
    return _estimate(accumulator.sample(), resampling)["krippendorff"] if accumulator.items else NOTHING


def _estimate(sample: Sample, resampling: Resampling) -> Mapping[str, Estimate]:
    values = sample.figures(sample.counts[np.newaxis, :].astype(np.float64))
    intervals = bootstrap(sample, resampling.draws, resampling.seed)
    estimates = {}
    for name, (value,) in values.items():
        low, high = intervals[name] or (None, None)
        rounded = round_figure(float(value))
        estimates[name] = (
            NOTHING if rounded is None else Estimate(rounded, round_figure(low), round_figure(high))
        )
    return estimates
