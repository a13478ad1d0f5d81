"""Means, correlations and agreement with their bootstrap intervals, as rows hold them."""

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
    """How intervals are drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draws: int = Field(default=10_000, ge=1)
    seed: int = 0


def round_figure(value: float | None) -> float | None:
    """Write a figure to 10 significant digits; NaN is None."""
    return None if value is None or math.isnan(value) else float(f"{value:.{DIGITS}g}")


def estimate_mean(values: Sequence[float], how: Resampling) -> Estimate:
    """Give a mean with its interval; nothing of nothing."""
    tally = MeanAccumulator(("mean",))
    for value in values:
        tally.add(None, Score({"mean": value}))
    return _estimate(tally.sample(), how)["mean"] if values else NOTHING


def correlate_with_people(pairs: Sequence[tuple[float, float]], how: Resampling) -> dict[str, Estimate]:
    """Give Pearson's and Spearman's coefficient of (person, measure) pairs."""
    tally = PairAccumulator()
    for person, measured in pairs:
        tally.add(ScorePair((person,), measured), SCORED)
    found = _estimate(tally.sample(), how) if pairs else {}
    return {name: found.get(name, NOTHING) for name in ("pearson", "spearman")}


def measure_agreement(items: Sequence[Sequence[float | None]], how: Resampling) -> Estimate:
    """Give Krippendorff's alpha (ordinal) of items by raters; None is a rating that is missing."""
    tally = RatingAccumulator("ordinal")
    for item in items:
        if sum(rating is not None for rating in item) > 1:
            tally.add(tuple(item), SCORED)
    return _estimate(tally.sample(), how)["krippendorff"] if tally.items else NOTHING


def _estimate(sample: Sample, how: Resampling) -> Mapping[str, Estimate]:
    values = sample.figures(sample.counts[np.newaxis, :].astype(np.float64))
    ranges = bootstrap(sample, how.draws, how.seed)
    found = {}
    for name, (value,) in values.items():
        low, high = ranges[name] or (None, None)
        shown = round_figure(float(value))
        found[name] = NOTHING if shown is None else Estimate(shown, round_figure(low), round_figure(high))
    return found
