"""Ranges of what is to come, and the mean of further values by those that were seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

ENOUGH = 10
"""Values that were seen from which a range is narrow."""
WIDEST = 1.7
"""A narrow range goes from its estimate divided by so much, to so many times it: the largest number whose
square is below 3, so that no end is off by more than a factor of 3 from a figure within the range."""
SLACK = 0.2
"""The least half width of a narrow range, as a share of its estimate: what comes is not drawn from what was
seen, but from what follows it."""
QUANTILE = 2.58
"""Of the normal distribution: 99% of the means lie within so many standard errors."""
GROWTH = 2.0
"""With fewer values seen, an estimate may be off by so much; nothing may come of it, too."""


@dataclass(frozen=True)
class Range:
    """From at least to at most; `exact` where the inputs are at hand and only re-asking can add.

    high is infinite where nothing tells how much it may be.
    """

    low: float = 0
    high: float = 0
    exact: bool = True

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high, self.exact and other.exact)

    @property
    def middle(self) -> float:
        """The geometric mean of both ends, or half of the upper one where the lower is 0."""
        return float(self.low * self.high) ** 0.5 if self.low else self.high / 2

    def times(self, low: float, high: float) -> Range:
        """Multiply both ends; a range that is empty or unknown stays so."""
        return Range(self.low * low, self.high * high if self.high else 0, self.exact)


NOTHING = Range()
UNKNOWN = Range(0, math.inf, exact=False)


def widen(estimate: float, low: float | None = None) -> Range:
    """Return the narrow range around an estimate. low: another estimate, for the lower end."""
    return Range((estimate if low is None else low) / WIDEST, estimate * WIDEST, exact=False)


def widen_freely(estimate: float) -> Range:
    """Return the range for an estimate that rests on few calls."""
    return Range(0, estimate * GROWTH, exact=False)


def predict_mean(values: Sequence[float], further: int) -> tuple[float, float]:
    """Predict between what the mean of `further` values lies, by at least two that were seen.

    The standard error of the difference of both means is s * sqrt(1/n + 1/m), with s the standard deviation,
    n the values seen and m the further ones.
    """
    mean = fmean(values)
    error = stdev(values) * math.sqrt(1 / len(values) + 1 / further)
    half = max(QUANTILE * error, SLACK * mean)
    return max(mean - half, mean / WIDEST), min(mean + half, mean * WIDEST)
