"""Forecast the mean over all items from a subset in a nightly evaluation.

Decide whether to evaluate more items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, sqrt
from typing import NamedTuple

import numpy as np

from tasks.judging.night_subset import (
    STEPS,
    estimate_change,
    find_detectable_drop,
    find_fall_chance,
)
from tasks.scoring.metric import FloatArray
from tasks.scoring.statistics import NORMAL_QUANTILE, POWER, correct_holm

EACH_STEP = POWER ** (1 / len(STEPS))
"""Power of one step, chosen so that all steps together reach POWER if they are independent."""


class SeriesName(NamedTuple):
    """The name of a series: a metric of a system in an entry."""

    system: str
    metric: str


class PartWorth(NamedTuple):
    """Statistics of one part of the items over past runs.

    spread: root mean square of the changes that `check_part` estimates from parts. error: root mean square
    error of the estimates. reach: the largest past score minus the smallest. results: number of past scores.
    """

    spread: float
    error: float
    reach: float
    results: int


class PartTest(NamedTuple):
    """Parameters of the test for a drop in a forecast.

    parts: number of parts evaluated. near: the limit of the p value (`NightSubset.near`). tests: number of
    series in all entries, for Holm's method.
    """

    parts: int
    near: float
    tests: int


@dataclass(frozen=True)
class PartForecast:
    """The forecast of a metric's mean over all items, estimated from a part of the items.

    - mean: the estimated mean over all items, in units of the score. In 95% of runs, the estimate is within
      `error` of the true mean.
    - change: the change from the mean of past full runs.
    - p_value: the one-sided p value of a drop of this size. adjusted: the p value, corrected with Holm's
      method.
    - detectable: a drop of this size makes the run evaluate all items with a probability of 80%.

    mean and change are None if no item has a score.
    """

    section: str
    entry: str
    system: str
    metric: str
    mean: float | None
    error: float
    change: float | None
    p_value: float
    adjusted: float
    detectable: float

    @property
    def name(self) -> str:
        """The display name: SECTION.ENTRY/SYSTEM METRIC, or SECTION.ENTRY METRIC for a nameless system."""
        return f"{self.section}.{self.entry}{f'/{self.system}' if self.system else ''} {self.metric}"


@dataclass(frozen=True)
class NightPart:
    """The part of the items that a nightly run evaluated, over all entries.

    - n: number of items evaluated in all entries. of: total number of items in all entries.
    - parts: number of parts evaluated.
    - calls: number of the run's model calls. whole_calls: number of model calls of the last full run.
    - nights: labels of the full runs whose scores determined the choice of items.
    """

    n: int
    of: int
    parts: int
    calls: int
    whole_calls: int
    nights: tuple[str, ...]
    forecasts: tuple[PartForecast, ...] = ()

    @property
    def saved(self) -> float:
        """The fraction of a full run's calls that this run saves.

        If the number of a full run's calls is unknown, this is the fraction of the items that the run omits.
        """
        return 1 - (self.calls / self.whole_calls if self.whole_calls else self.n / self.of)

    @property
    def detectable(self) -> float:
        """The largest `detectable` of all forecasts; NaN if there are none."""
        return max((forecast.detectable for forecast in self.forecasts), default=float("nan"))


def forecast_series(
    entry: tuple[str, str],
    name: SeriesName,
    now: FloatArray,
    expected: FloatArray,
    weights: FloatArray,
    worth: PartWorth,
    test: PartTest,
) -> PartForecast:
    """Forecast a metric from the scores of some items; `correct_forecasts` corrects the p value.

    now, expected, weights: the score, expected score and weight of each item; shape (items,). The spread and
    the error have a minimum: their value if one past score had changed by `worth.reach`. The minimum allows
    for changes that no past run had.
    """
    unit = worth.reach * float(np.square(weights).sum()) * test.parts
    least = sqrt(worth.reach * unit / worth.results)
    spread, error = max(worth.spread, least), max(worth.error, least)
    change = float(estimate_change(now, expected, weights))
    chance = float(find_fall_chance(np.array(change), np.array(spread / sqrt(test.parts))))
    # `near / tests` is the strictest level of Holm's method; the lowest p value must be below it.
    drops = [
        find_detectable_drop(spread / sqrt(parts), unit / parts, factor * test.near / test.tests, EACH_STEP)
        for parts, factor in STEPS.items()
    ]
    known = not isnan(change)
    return PartForecast(
        *entry,
        *name,
        mean=float(np.nanmean(expected)) + change if known else None,
        error=NORMAL_QUANTILE * error / sqrt(test.parts),
        change=change if known else None,
        p_value=chance,
        adjusted=chance,
        # Every step must detect the drop, so the least sensitive step decides.
        detectable=max(drops),
    )


def correct_forecasts(forecasts: Sequence[PartForecast]) -> tuple[PartForecast, ...]:
    """Correct the p values of all forecasts of a nightly run with Holm's method."""
    adjusted = correct_holm([forecast.p_value for forecast in forecasts])
    return tuple(
        replace(forecast, adjusted=1.0 if value is None else value)
        for forecast, value in zip(forecasts, adjusted, strict=True)
    )


def find_doubt(part: NightPart, near: float, drop: float) -> PartForecast | None:
    """Return the forecast whose drop makes the run evaluate more items; None if no drop does.

    If several forecasts qualify, the forecast with the lowest p value is returned. near: the limit of the p
    value (`NightSubset.near`). drop: the smallest drop in an estimated mean that counts (`AlarmRule.drop`).
    """
    level = STEPS[part.parts] * near
    fallen = [
        forecast
        for forecast in part.forecasts
        if forecast.adjusted < level and forecast.change is not None and -forecast.change >= drop
    ]
    return min(fallen, key=lambda forecast: forecast.adjusted, default=None)


def find_next_step(parts: int) -> int:
    """Return the number of parts in the next step; 0 means all items."""
    return next((step for step in STEPS if step > parts), 0)


def describe_doubt(forecast: PartForecast) -> str:
    """Describe in one line how far a mean dropped on a part of the items."""
    return f"{forecast.name}: on a subset of the items, the mean fell by {-(forecast.change or 0):.3f}" + (
        f" (p = {forecast.adjusted:.4f}, one-sided, by Holm)"
    )


def describe_part(part: NightPart) -> str:
    """Describe in one line the items that a run evaluated, the saved calls, and the detectable drop."""
    unit = "calls" if part.whole_calls else "items"
    head = f"subset of {part.n} of {part.of} items; {part.saved:.0%} fewer {unit}"
    return f"{head}; a drop of {part.detectable:.2g} can be detected" if part.forecasts else head


def describe_forecast(forecast: PartForecast) -> str:
    """Describe in one line the estimated mean over all items."""
    if forecast.mean is None or forecast.change is None:
        return f"{forecast.name}: no item is scored, so there is no estimate"
    return (
        f"{forecast.name}: the estimated mean over all items is {forecast.mean:.3f} ± {forecast.error:.3f}, "
        f"which is {forecast.change:+.3f} from past nights"
    )
