"""Generate random values that depend only on a key, not on the order of the calls."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TypeVar

from tasks.artifacts.rows import make_id

Item = TypeVar("Item")
FRIDAY = 4


def random_integer(low: int, high: int, *key: object) -> int:
    """Return a random integer from `low` to `high`, inclusive."""
    return low + int(make_id("draw", *key), 16) % (high - low + 1)


def random_working_day(first: date, last: date, *key: object) -> date:
    """Return a random working day from `first` to `last`, which must be at least three days apart."""
    day = first + timedelta(days=random_integer(0, (last - first).days, *key))
    over = day.weekday() - FRIDAY
    if over <= 0:
        return day
    friday = day - timedelta(days=over)
    return friday if friday >= first else day + timedelta(days=3 - over)


def shuffle(items: Iterable[Item], *key: object) -> list[Item]:
    """Return the items in a random order. The items must have distinct `str` values."""
    return sorted(items, key=lambda item: make_id("shuffle", *key, str(item)))


def random_letter(*key: object) -> str:
    """Return a random capital letter, excluding letters that rarely begin a name."""
    letters = "ABCDEFGHIJKLMNOPRSTVW"
    return letters[random_integer(0, len(letters) - 1, *key)]


def middle_year(years: tuple[int, int]) -> int:
    """Return the year halfway between the two years, rounded down.

    People are hired and clients acquired until this year. Projects begin in later years.
    """
    return (years[0] + years[1]) // 2
