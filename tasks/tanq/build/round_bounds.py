"""Numbers and years that people say, between two that they do not: the bounds of filters."""

from __future__ import annotations

import math
from decimal import Decimal

ROUND_YEARS = (100, 50, 25, 10, 5, 1)
"""What a year that bounds a filter is a multiple of, best first."""


def find_round(low: Decimal, high: Decimal) -> Decimal | None:
    """Find the roundest number between two positive ones, of two digits at most; the one in their middle."""
    if low >= high:
        return None
    middle = Decimal(math.sqrt(float(low) * float(high)))
    for digits in (1, 2):
        steps = [
            Decimal(1).scaleb(power - digits + 1) for power in range(low.adjusted(), high.adjusted() + 1)
        ]
        found = [
            step * count for step in steps if (count := _count_steps(middle, step, low, high, 10**digits - 1))
        ]
        if found:
            return min(found, key=lambda number: (abs(number - middle), number))
    return None


def _count_steps(middle: Decimal, step: Decimal, low: Decimal, high: Decimal, most: int) -> int:
    """Return how many steps are nearest to the middle and between the ends, at most `most`; 0 for none."""
    first, last = math.ceil(low / step), math.floor(high / step)
    count = min(max(round(middle / step), first), last)
    return count if first <= count <= last and 0 < count <= most else 0


def find_round_year(first: int, last: int) -> int | None:
    """Find the roundest year of some, the earliest of those; None if there is none."""
    for step in ROUND_YEARS:
        year = -(-first // step) * step
        if year <= last and year != 0:
            return year
    return None
