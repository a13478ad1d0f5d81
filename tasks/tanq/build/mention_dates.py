"""Find a date in a text, in any common English form, down to the precision that it is known to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tasks.sources.wikidata.calendars import Calendar, count_days
from tasks.sources.wikidata.calendars import convert as convert_date
from tasks.sources.wikidata.values import Precision
from tasks.sources.wikipedia.dates import MONTHS

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth", "twenty-first",
)  # fmt: skip
BEFORE_OUR_ERA = r"\s?(?:BCE?\b|B\.\s?C\.(?:\s?E\.)?)"
OUR_ERA = r"\s?(?:AD|CE|A\.\s?D\.|C\.\s?E\.)(?!\w)"
APPROXIMATE = r"(?<!c\. )(?<!c\.)(?<!ca\. )(?<!circa )(?<!around )(?<!about )"
NUMBER_BEFORE = r"(?<![\w,.$€£#/\u2013-])"
YEAR_BEFORE = r"(?<![\w$€£#/])(?<!\d[,.])"
"""A year may end a span: `1879-1955`."""
ENDING = r"(?:st|nd|rd|th)?"
COMMA = "(?: ?,)?"
"""Before a year; published texts that are split into tokens have a blank before it, too."""
EARLY = 1000
"""Years before it are written with their era, or they are any number."""


@dataclass(frozen=True)
class DateEnd:
    """A date that a text may give. year: historical, negative before 1 CE; precision: Wikibase's number."""

    year: int
    month: int | None
    day: int | None
    precision: int
    calendar: Calendar = "gregorian"


def find_date(text: str, end: DateEnd) -> tuple[int, int] | None:
    """Find where a text first gives a date: (start, end) in characters; None if it does not.

    What is known to the day is not given by its month; what is known to the year is given by any day of it.
    A day is also found by the other calendar's name.
    """
    pattern = _match_date(end)
    found = pattern.search(text) if pattern else None
    return found.span() if found else None


@lru_cache(maxsize=8192)
def _match_date(end: DateEnd) -> re.Pattern[str] | None:
    forms = list(_list_forms(end))
    return re.compile("|".join(forms)) if forms else None


def _list_forms(end: DateEnd) -> Iterator[str]:
    year, month, day = end.year, end.month, end.day
    if end.precision == Precision.DAY and month and day:
        for date in _name_day(year, month, day, end.calendar):
            yield from _write_day(*date)
    elif end.precision == Precision.MONTH and month:
        yield from _write_month(year, month)
    elif end.precision == Precision.YEAR:
        yield _write_year(year)
    elif end.precision == Precision.DECADE and year > 0:
        yield rf"{NUMBER_BEFORE}{year // 10 * 10}'?s(?!\w)"
    elif end.precision in (Precision.CENTURY, Precision.MILLENNIUM):
        span, word = (100, "century") if end.precision == Precision.CENTURY else (1000, "millennium")
        yield _write_period((abs(year) - 1) // span + 1, word, before=year < 0)


def _name_day(year: int, month: int, day: int, calendar: Calendar) -> Iterator[tuple[int, int, int]]:
    yield year, month, day
    other: Calendar = "julian" if calendar == "gregorian" else "gregorian"
    # Dates before 1582 are told by the Julian calendar alone, and after 1923 no country kept it.
    if 1582 <= year <= 1923 and day <= count_days(year, month, calendar):
        yield convert_date((year, month, day), calendar, other)


def _write_day(year: int, month: int, day: int) -> Iterator[str]:
    name, written = _write_name(month), _write_dated_year(year)
    yield rf"{NUMBER_BEFORE}0?{day}{ENDING}(?: of)? {name}{COMMA} {written}"
    yield rf"(?<!\w){name} 0?{day}{ENDING}{COMMA} {written}"
    if year > 0:
        yield rf"(?<![\w-]){year:04}-{month:02}-{day:02}(?!\d)"


def _write_month(year: int, month: int) -> Iterator[str]:
    name, written = _write_name(month), _write_dated_year(year)
    yield rf"(?<!\w)(?:\d{{1,2}}{ENDING}(?: of)? )?{name}(?: \d{{1,2}}{ENDING})?(?:{COMMA} | of ){written}"
    if year > 0:
        yield rf"(?<![\w-]){year:04}-{month:02}(?:-\d\d)?(?!\d)"


def _write_year(year: int) -> str:
    if year < 0:
        return rf"{YEAR_BEFORE}{APPROXIMATE}{-year}(?:[\u2013-]\d{{1,4}})?{BEFORE_OUR_ERA}"
    if year < EARLY:
        return rf"(?<!\w)(?:AD|CE) {year}(?!\d)|{YEAR_BEFORE}{APPROXIMATE}{year}{OUR_ERA}"
    # 1998-99 is a season and no year; 1998-03-14 is of the year.
    span = r"[/\u2013]\d\d(?!\d)|-\d\d(?!\d|-\d)"
    return rf"{YEAR_BEFORE}{APPROXIMATE}{year}(?!\d|[,.]\d|{span}|{BEFORE_OUR_ERA})"


def _write_dated_year(year: int) -> str:
    """Write the year behind a day or a month, where it needs no era to be one."""
    if year < 0:
        return rf"{-year}{BEFORE_OUR_ERA}"
    return rf"(?:AD )?{year}(?!\d|{BEFORE_OUR_ERA})"


def _write_period(number: int, word: str, *, before: bool) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    names = [f"{number}{ending}", *ORDINALS[number - 1 : number]]
    written = "|".join(rf"[{name[0]}{name[0].upper()}]{re.escape(name[1:])}" for name in names)
    era = BEFORE_OUR_ERA if before else rf"(?!{BEFORE_OUR_ERA})"
    return rf"(?<![\w-])(?:{written})[ -]{word}{era}"


def _write_name(month: int) -> str:
    name = MONTHS[month - 1]
    short = rf"|{name[:3]}\.?(?!\w)" if len(name) > 4 else ""
    september = r"|Sept\.?(?!\w)" if month == 9 else ""
    return rf"(?:{name}{short}{september})"
