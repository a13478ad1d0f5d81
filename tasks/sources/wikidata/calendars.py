"""Convert dates between the proleptic Gregorian and Julian calendars.

Years are historical: the year before 1 is -1 (1 BCE), and there is no year 0.

datetime and dateutil are not suitable, because they start in the year 1 and do not support the Julian
calendar. Libraries that support the Julian calendar have unsuitable licences: convertdate requires PyMeeus
(LGPL-3.0), and juliandate is GPL-3.0. The tests compare both calendars with convertdate, and ages with
dateutil.
"""

from __future__ import annotations

from typing import Literal

Calendar = Literal["gregorian", "julian"]
Date = tuple[int, int, int]
"""A date as (year, month, day); the year is historical."""
MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def to_astronomical(year: int) -> int:
    """Convert a historical year to an astronomical year: 1 BCE is 0, 44 BCE is -43."""
    return year if year > 0 else year + 1


def to_historical(year: int) -> int:
    """Convert an astronomical year to a historical year: 0 is 1 BCE."""
    return year if year > 0 else year - 1


def is_leap(year: int, calendar: Calendar) -> bool:
    """Return whether a historical year has a 29 February; 1 BCE and 5 BCE are leap years."""
    number = to_astronomical(year)
    return number % 4 == 0 and (calendar == "julian" or number % 100 != 0 or number % 400 == 0)


def count_days(year: int, month: int, calendar: Calendar) -> int:
    """Return the number of days of a month (1 to 12)."""
    return MONTHS[month - 1] + (month == 2 and is_leap(year, calendar))


def to_day_number(date: Date, calendar: Calendar) -> int:
    """Return the number of days from 1 March of the astronomical year 0 (Gregorian) to a date.

    The same day has the same number in both calendars.
    """
    year, month, day = date
    # In this computation, years start in March, so that the leap day is the last day of a year.
    number = to_astronomical(year) - (month < 3)
    in_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    if calendar == "julian":
        return 365 * number + number // 4 + in_year - 2
    return 365 * number + number // 4 - number // 100 + number // 400 + in_year


def from_day_number(number: int, calendar: Calendar) -> Date:
    """Return the date of a day number; the inverse of `to_day_number`."""
    if calendar == "julian":
        year, in_year = _split_cycle(number + 2, centuries=False)
    else:
        cycle, left = divmod(number, 146_097)
        year, in_year = _split_cycle(left, centuries=True)
        year += 400 * cycle
    place = (5 * in_year + 2) // 153
    day = in_year - (153 * place + 2) // 5 + 1
    month = place + 3 if place < 10 else place - 9
    return to_historical(year + (month < 3)), month, day


def convert(date: Date, old: Calendar, new: Calendar) -> Date:
    """Convert a date to the other calendar: Gregorian 1582-10-15 is Julian 1582-10-05."""
    return from_day_number(to_day_number(date, old), new)


def _split_cycle(days: int, *, centuries: bool) -> tuple[int, int]:
    """Return (whole years, remaining days) for a number of days; the years start on 1 March.

    `centuries`: whether the Gregorian rule for leap years applies, instead of a leap year every fourth year.
    """
    if not centuries:
        cycle, left = divmod(days, 1_461)
        year = min(left // 365, 3)
        return 4 * cycle + year, left - 365 * year
    year = (days - days // 1_460 + days // 36_524 - days // 146_096) // 365
    return year, days - (365 * year + year // 4 - year // 100)
