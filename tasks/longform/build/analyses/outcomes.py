"""Compute the outcome of an analysis, and check that its rows support the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.longform.build.analyses.kinds import (
    CORRELATED,
    FIRST_VALUE,
    GAP,
    HALVES,
    KINDS,
    MEDIAN_GAP,
    PART,
    PERIOD_COUNTS,
    PERIODS,
    SLOPE,
    YEARLY,
)
from tasks.longform.build.analyses.queries import ABOVE, CHANGE, LATER, SIDES, VALUE
from tasks.longform.build.designs import FigureDesign

YES, NO, UNKNOWN = "yes", "no", "unknown"
POSITIVE, NEGATIVE, WEAK = "positive", "negative", "weak"
RISING, FALLING, FLAT = "rising", "falling", "flat"
KNOWN = 3
"""Minimum number of rows with a known amount in each compared group or side.

For a trend in the number of rows, this is the minimum number of years.
"""
CLEAR = 0.3
"""Minimum absolute correlation that counts as positive or negative; correlations closer to 0 are weak."""
TENTH = 0.1
"""Minimum change that counts as rising or falling, as a fraction of the mean.

For a gap between groups, the highest value must exceed the lowest value by more than this fraction of the
lowest value.
"""
CHOICES: Mapping[str, tuple[str, ...]] = {
    GAP: (YES, NO), MEDIAN_GAP: (YES, NO), CORRELATED: (POSITIVE, NEGATIVE, WEAK), HALVES: SIDES[HALVES],
    SLOPE: (RISING, FALLING, FLAT), YEARLY: (RISING, FALLING, FLAT), PERIODS: SIDES[PERIODS],
    PERIOD_COUNTS: SIDES[PERIOD_COUNTS],
}  # fmt: skip
"""Map each kind of figure to its possible outcomes.

For all other kinds, the outcome is the group with the highest value.
"""

AGREES: Mapping[str, str] = {
    GAP: YES, MEDIAN_GAP: YES, CORRELATED: POSITIVE, HALVES: ABOVE, SLOPE: RISING, YEARLY: RISING,
    PERIODS: LATER, PERIOD_COUNTS: LATER,
}  # fmt: skip
"""Map each kind of figure to the outcome that means yes for a definite question.

For other kinds, see `find_yes`.
"""


def is_analysis(design: str) -> bool:
    """Return whether a design is a kind of analysis, planned from another question rather than from rows."""
    return design in KINDS


def list_sides(figure: FigureDesign, groups: Sequence[str]) -> tuple[str, ...]:
    """List the keys of a figure's values: its groups, its two sides, or `VALUE` for a single value."""
    if figure.kind in SIDES:
        return SIDES[figure.kind]
    if figure.kind in (CORRELATED, SLOPE, YEARLY):
        return (VALUE,)
    return tuple(groups[:FIRST_VALUE]) if figure.kind == PART else tuple(groups)


def list_choices(figure: FigureDesign, groups: Sequence[str]) -> tuple[str, ...]:
    """List the possible outcomes of a figure."""
    return CHOICES.get(figure.kind) or list_sides(figure, groups)


def find_yes(figure: FigureDesign, groups: Sequence[str]) -> str:
    """Return the outcome of a figure that means yes for a definite question."""
    if figure.kind == PART:
        return groups[int(figure.threshold) - FIRST_VALUE]
    return AGREES.get(figure.kind) or groups[0]


def find_outcome(kind: str, values: Mapping[str, float]) -> str | None:
    """Return a figure's outcome; empty if the outcome is undetermined.

    Returns None for a kind of figure that ranks groups.
    """
    if kind in (GAP, MEDIAN_GAP):
        gap = measure_gap(values)
        return "" if gap is None else YES if gap > TENTH else NO
    if kind == CORRELATED:
        value = values.get(VALUE)
        return "" if value is None else WEAK if abs(value) < CLEAR else POSITIVE if value > 0 else NEGATIVE
    if kind in (SLOPE, YEARLY):
        change = values.get(CHANGE)
        return "" if change is None else FLAT if abs(change) < TENTH else RISING if change > 0 else FALLING
    if kind in SIDES:
        one, other = (values.get(side) for side in SIDES[kind])
        return "" if one is None or other is None or one == other else SIDES[kind][one < other]
    return None


def measure_gap(values: Mapping[str, float]) -> float | None:
    """Return the relative difference between the highest and the lowest value: 0.5 for 3 and 2.

    Returns None if there are fewer than two values, or if the lowest value is not above 0.
    """
    if len(values) < 2 or min(values.values()) <= 0:
        return None
    return max(values.values()) / min(values.values()) - 1


def list_counts(figure: FigureDesign, groups: Sequence[str], counts: Mapping[str, int]) -> list[int]:
    """List the number of rows on each side of a figure; 0 for a side without rows."""
    return [counts.get(side, 0) for side in list_sides(figure, groups)]


def is_silent(figure: FigureDesign, groups: Sequence[str], counts: Mapping[str, int]) -> bool:
    """Return whether a figure is undetermined: a side has no rows, or a fit has fewer than two points."""
    least = 2 if figure.kind in (CORRELATED, SLOPE, YEARLY) else 1
    return min(list_counts(figure, groups, counts)) < least


def is_told(
    figure: FigureDesign, groups: Sequence[str], counts: Mapping[str, int], values: Mapping[str, float]
) -> bool:
    """Return whether every side of a figure has a value and at least `KNOWN` rows."""
    enough = min(list_counts(figure, groups, counts)) >= KNOWN
    return enough and all(side in values for side in list_sides(figure, groups))
