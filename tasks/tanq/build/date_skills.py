"""Skills of dates: the year of a date, and how long it is from one to another (section 3.3, step 5).

Calendars are both carried back before their introduction, and there is no year 0.
"""

from __future__ import annotations

from tasks.sources.wikidata.calendars import (
    Calendar,
    Date,
    convert,
    count_days,
    to_astronomical,
    to_day_number,
)
from tasks.sources.wikidata.values import Precision, Time


def count_full_years(first: Time, second: Time) -> int:
    """Count the full years from one day to another: how old somebody was who was born and died then.

    Two days of one calendar are counted in it, others in the Gregorian one. Somebody born on 29 February has
    lived another year on 28 February where a year has no such day. Raises ValueError if a time is no day, or
    the second is before the first.
    """
    calendar = first.calendar if first.calendar == second.calendar else "gregorian"
    start, end = (to_calendar(time, calendar) for time in (first, second))
    if count_days_between(first, second) < 0:
        raise ValueError(f"{end} is before {start}")
    years = to_astronomical(end[0]) - to_astronomical(start[0])
    return years - (end[1:] < _find_anniversary(start, end[0], calendar))


def count_years_between(first: Time, second: Time) -> int:
    """Subtract years: from 44 BCE to 14 it is 57, as there is no year 0.

    Raises ValueError for a time less precise than a year, or a second one before the first.
    """
    if min(first.precision, second.precision) < Precision.YEAR:
        raise ValueError("a time is less precise than a year")
    years = to_astronomical(second.year) - to_astronomical(first.year)
    if years < 0:
        raise ValueError(f"{second.year} is before {first.year}")
    return years


def count_days_between(first: Time, second: Time) -> int:
    """Count the days from one day to another, of any calendar; below 0 if the second comes first.

    Raises ValueError if a time is not a day.
    """
    return to_day_number(_to_date(second), second.calendar) - to_day_number(_to_date(first), first.calendar)


def show_year(time: Time) -> str:
    """Write a time's year: `1879`, `44 BCE`. Raises ValueError for a time less precise than a year."""
    if time.precision < Precision.YEAR:
        raise ValueError("it is less precise than a year")
    return say_year(time.year)


def say_year(year: int) -> str:
    """Write a historical year: `1879`, `44 BCE`."""
    return str(year) if year > 0 else f"{-year} BCE"


def read_year(text: str) -> int:
    """Read a year as `say_year` writes it. Raises ValueError."""
    number, _, era = text.partition(" ")
    if era not in ("", "BCE") or not number.isdecimal() or int(number) == 0:
        raise ValueError(f"{text!r:.40} is no year")
    return -int(number) if era else int(number)


def to_calendar(time: Time, calendar: Calendar) -> Date:
    """Return a day's date in a calendar. Raises ValueError if the time is not a day."""
    date = _to_date(time)
    return date if time.calendar == calendar else convert(date, time.calendar, calendar)


def _to_date(time: Time) -> Date:
    if time.month is None or time.day is None:
        raise ValueError("a time is less precise than a day")
    return time.year, time.month, time.day


def _find_anniversary(start: Date, year: int, calendar: Calendar) -> tuple[int, int]:
    return start[1], min(start[2], count_days(year, start[1], calendar))
