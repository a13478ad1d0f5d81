"""The types of claim values: an item, a time, a quantity, or a text with its language."""

from __future__ import annotations

import re
import reprlib
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum

from tasks.sources.wikidata.calendars import Calendar, count_days

ENTITY = re.compile(r"[QP][1-9]\d{0,14}")
AMOUNT = re.compile(r"[+-]?\d{1,127}(?:\.\d{1,127})?")
TIME = re.compile(r"([+-]?)(\d{1,16})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?Z?")
LONGEST_TEXT = 100_000


class Precision(IntEnum):
    """The precision of a time: its smallest known unit. The values are Wikibase's numbers."""

    BILLION_YEARS = 0
    HUNDRED_MILLION_YEARS = 1
    TEN_MILLION_YEARS = 2
    MILLION_YEARS = 3
    HUNDRED_THOUSAND_YEARS = 4
    TEN_THOUSAND_YEARS = 5
    MILLENNIUM = 6
    CENTURY = 7
    DECADE = 8
    YEAR = 9
    MONTH = 10
    DAY = 11


PRECISIONS = tuple(Precision)
"""The precisions by number; indexing this tuple is much faster than calling the enumeration."""


@dataclass(frozen=True)
class ItemValue:
    """A reference to another entity, usually an item, by its id (`Q42`)."""

    id: str


@dataclass(frozen=True)
class Time:
    """A date with its calendar. `year`: a historical year; -44 is 44 BCE, and there is no year 0.

    `month` and `day` are None if the precision is coarser.
    """

    year: int
    month: int | None
    day: int | None
    precision: Precision
    calendar: Calendar = "gregorian"

    def span(self) -> tuple[int, int]:
        """Return the first and last possible year: 1987 with precision decade is (1980, 1989).

        Centuries and millennia end in the given year: 1900 with precision century is (1801, 1900), the 19th
        century.
        """
        if self.precision >= Precision.YEAR:
            return self.year, self.year
        width = 10 ** (Precision.YEAR - self.precision)
        size = abs(self.year)
        if self.precision in (Precision.CENTURY, Precision.MILLENNIUM):
            last = -(-size // width) * width
            ends = last - width + 1, last
        else:
            first = size // width * width
            ends = max(first, 1), first + width - 1
        return ends if self.year > 0 else (-ends[1], -ends[0])


@dataclass(frozen=True)
class Quantity:
    """An exact number. `unit`: an item id, or None. `lower`, `upper`: the bounds, or None if unknown."""

    amount: Decimal
    unit: str | None = None
    lower: Decimal | None = None
    upper: Decimal | None = None


@dataclass(frozen=True)
class Text:
    """A text with its Wikimedia language code."""

    text: str
    language: str


Value = ItemValue | Time | Quantity | Text


class NoValue(ValueError):
    """Raised if a value is not valid for its type; the message states the reason."""


def show(value: object) -> str:
    """Return any value as a line of at most 60 characters, even if it is too deeply nested for `repr`."""
    brief = reprlib.Repr()
    brief.maxstring = 60
    return value[:60] if isinstance(value, str) and value.isprintable() else brief.repr(value)[:60]


def make_time(text: object, precision: object, calendar: Calendar) -> Time:
    """Parse a time in Wikibase's format, such as `-0044-03-15T00:00:00Z`, and reduce it to its precision.

    Raises NoValue if the text has another format, and in the same cases as `make_date`.
    """
    found = TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise NoValue(f"{show(text)} is not a time")
    sign, *digits = found.groups()
    year, month, day = map(int, digits)
    return make_date(-year if sign == "-" else year, month, day, precision, calendar)


def make_date(year: int, month: int, day: int, precision: object, calendar: Calendar) -> Time:
    """Return a time without the parts that are finer than the precision.

    Raises NoValue for a month or day that does not exist in the calendar, the year 0, and precisions finer
    than a day.
    """
    if not isinstance(precision, int) or isinstance(precision, bool) or not 0 <= precision <= Precision.DAY:
        raise NoValue(f"{show(precision)} is not a supported precision (0 to {Precision.DAY:d})")
    if year == 0:
        raise NoValue("there is no year 0")
    known = PRECISIONS[precision]
    if known < Precision.MONTH:
        return Time(year, None, None, known, calendar)
    if not 1 <= month <= 12:
        raise NoValue(f"{year}-{month:02d} is not a valid month")
    if known < Precision.DAY:
        return Time(year, month, None, known, calendar)
    if not 1 <= day <= count_days(year, month, calendar):
        raise NoValue(f"{year}-{month:02d}-{day:02d} is not a valid date in the {calendar.title()} calendar")
    return Time(year, month, day, known, calendar)


def make_amount(text: object) -> Decimal:
    """Return the decimal number in a string such as `+1.96`. Raises NoValue if the number is invalid."""
    if not isinstance(text, str) or not AMOUNT.fullmatch(text):
        raise NoValue(f"{show(text)} is not a decimal number")
    return Decimal(text)


def make_text(text: object, language: object) -> Text:
    """Return a text with its language. Raises NoValue if the text or the language is invalid."""
    if not isinstance(text, str) or not isinstance(language, str) or not language:
        raise NoValue(f"{show(text)} is not text with a language code")
    if len(text) > LONGEST_TEXT or len(language) > 40:
        raise NoValue(
            f"is too long: the text has {len(text):,} characters, the language code {len(language):,}"
        )
    return Text(text, language)


def make_item(name: object) -> ItemValue:
    """Return a reference to an item or property. Raises NoValue if the id is invalid."""
    if not isinstance(name, str) or not ENTITY.fullmatch(name):
        raise NoValue(f"{show(name)} is not an entity id")
    return ItemValue(name)
