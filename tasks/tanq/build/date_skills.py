"""Apply skills to dates: the year of a date, and the time between two dates (TANQ, section 3.3, step 5).

Calendar rules also apply to dates before the calendar's introduction. There is no year 0.
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
    """Count the full years between two days, such as the age of a person at death.

    If both days are in the same calendar, years are counted in that calendar, otherwise in the Gregorian
    calendar. The anniversary of 29 February is 28 February in years without a leap day. Raises ValueError if
    a time is less precise than a day, or if the second day is before the first.
    """
    calendar = first.calendar if first.calendar == second.calendar else "gregorian"
    start, end = (to_calendar(time, calendar) for time in (first, second))
    if count_days_between(first, second) < 0:
        raise ValueError(f"{end} is before {start}")
    years = to_astronomical(end[0]) - to_astronomical(start[0])
    return years - (end[1:] < _find_anniversary(start, end[0], calendar))


def count_years_between(first: Time, second: Time) -> int:
    """Return the difference between two years; there is no year 0, so 44 BCE to 14 CE is 57 years.

    Raises ValueError if a time is less precise than a year, or if the second year is before the first.
    """
    if min(first.precision, second.precision) < Precision.YEAR:
        raise ValueError("a time is less precise than a year")
    years = to_astronomical(second.year) - to_astronomical(first.year)
    if years < 0:
        raise ValueError(f"{second.year} is before {first.year}")
    return years


def count_days_between(first: Time, second: Time) -> int:
    """Count the days between two dates in any calendars; negative if the second date comes first.

    Raises ValueError if a time is less precise than a day.
    """
    return to_day_number(_to_date(second), second.calendar) - to_day_number(_to_date(first), first.calendar)


def show_year(time: Time) -> str:
    """Format the year of a time: `1879`, `44 BCE`. Raises ValueError for a time less precise than a year."""
    if time.precision < Precision.YEAR:
        raise ValueError("the time is less precise than a year")
    return say_year(time.year)


def say_year(year: int) -> str:
    """Format a historical year: `1879`, `44 BCE`."""
    return str(year) if year > 0 else f"{-year} BCE"


def read_year(text: str) -> int:
    """Parse a year in the format of `say_year`. Raises ValueError if the text has a different format."""
    number, _, era = text.partition(" ")
    if era not in ("", "BCE") or not number.isdecimal() or int(number) == 0:
        raise ValueError(f"{text!r:.40} is not a year")
    return -int(number) if era else int(number)


def to_calendar(time: Time, calendar: Calendar) -> Date:
    """Convert a day to a date in a calendar. Raises ValueError if the time is less precise than a day."""
    date = _to_date(time)
    return date if time.calendar == calendar else convert(date, time.calendar, calendar)


def _to_date(time: Time) -> Date:
    if time.month is None or time.day is None:
        raise ValueError("a time is less precise than a day")
    return time.year, time.month, time.day


def _find_anniversary(start: Date, year: int, calendar: Calendar) -> tuple[int, int]:
    return start[1], min(start[2], count_days(year, start[1], calendar))
