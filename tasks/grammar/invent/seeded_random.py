"""Draws that hang on the seed and on what is drawn for, never on the order of draws."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TypeVar

from tasks.artifacts.rows import make_id

Item = TypeVar("Item")
FRIDAY = 4


def draw(low: int, high: int, *key: object) -> int:
    """Draw a whole number from low to high, both included."""
    return low + int(make_id("draw", *key), 16) % (high - low + 1)


def draw_day(first: date, last: date, *key: object) -> date:
    """Draw a working day from first to last, which must span a weekend's length at least."""
    day = first + timedelta(days=draw(0, (last - first).days, *key))
    over = day.weekday() - FRIDAY
    if over <= 0:
        return day
    friday = day - timedelta(days=over)
    return friday if friday >= first else day + timedelta(days=3 - over)


def shuffle(items: Iterable[Item], *key: object) -> list[Item]:
    """Put items into a drawn order. Each must be told from the others by its text."""
    return sorted(items, key=lambda item: make_id("shuffle", *key, str(item)))


def draw_letter(*key: object) -> str:
    """Draw a capital letter that many names begin with."""
    letters = "ABCDEFGHIJKLMNOPRSTVW"
    return letters[draw(0, len(letters) - 1, *key)]


def middle_year(years: tuple[int, int]) -> int:
    """Give the last year in which people are hired and clients won; projects begin after it."""
    return (years[0] + years[1]) // 2
