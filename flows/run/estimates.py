"""Ranges of predicted values, and predictions of means from observed values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

ENOUGH = 10
"""Minimum number of observed values for a narrow range."""
WIDEST = 1.7
"""Factor between an estimate and each bound of its narrow range.

1.7 is the largest number with one decimal whose square is below 3. Any value in the range thus differs from
each bound by a factor of less than 3.
"""
SLACK = 0.2
"""Minimum half-width of a narrow range, as a fraction of the estimate, since conditions may change."""
QUANTILE = 2.58
"""Normal quantile: 99% of means are within this number of standard errors of the expected mean."""
GROWTH = 2.0
"""Factor between an estimate from fewer than ENOUGH values and the upper bound of its range."""


@dataclass(frozen=True)
class Range:
    """A range from `low` to `high`; `high` is infinite if unknown.

    `exact`: whether all first attempts are known, so that only retries can increase the number of calls.
    """

    low: float = 0
    high: float = 0
    exact: bool = True

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high, self.exact and other.exact)

    @property
    def middle(self) -> float:
        """The geometric mean of the two bounds, or half of the upper bound if the lower bound is 0."""
        return float(self.low * self.high) ** 0.5 if self.low else self.high / 2

    def times(self, low: float, high: float) -> Range:
        """Return the range with the lower bound multiplied by `low`, and the upper bound by `high`.

        Bounds of 0 and infinity do not change.
        """
        return Range(self.low * low, self.high * high if self.high else 0, self.exact)


NOTHING = Range()
UNKNOWN = Range(0, math.inf, exact=False)
"""The range of an unknown value."""


def widen(estimate: float, low: float | None = None) -> Range:
    """Return the narrow range around an estimate.

    `low`: a second estimate, from which the lower bound is computed; by default, `estimate`.
    """
    return Range((estimate if low is None else low) / WIDEST, estimate * WIDEST, exact=False)


def widen_freely(estimate: float) -> Range:
    """Return the wide range, from 0 to GROWTH times the estimate, for an estimate based on few calls."""
    return Range(0, estimate * GROWTH, exact=False)


def predict_mean(values: Sequence[float], further: int) -> tuple[float, float]:
    """Predict bounds on the mean of `further` new values from at least two observed values.

    The standard error of the difference between the two means is s * sqrt(1/n + 1/m). Here s is the standard
    deviation, n the number of observed values, and m the number of further values.
    """
    mean = fmean(values)
    error = stdev(values) * math.sqrt(1 / len(values) + 1 / further)
    half = max(QUANTILE * error, SLACK * mean)
    return max(mean - half, mean / WIDEST), min(mean + half, mean * WIDEST)
