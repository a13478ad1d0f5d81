"""Find a mention of a fact's entity or value in a text: a name, an amount or a date (step 2).

A mention alone is not a proof, because the text may state another fact about the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from tasks.sources.wikidata.calendars import Calendar, count_days
from tasks.sources.wikidata.calendars import convert as convert_date
from tasks.sources.wikidata.rows import CALENDARS
from tasks.sources.wikidata.values import Precision
from tasks.sources.wikipedia.dates import MONTHS
from tasks.tanq.build.mention_names import NameTarget, find_longer, find_name, make_names
from tasks.tanq.build.mention_numbers import AmountTarget, find_amount
from tasks.tanq.build.statements import SAYINGS
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.showing import ITEM, QUANTITY, TIME
from tasks.tanq.graph.things import Thing
from tasks.tanq.units import find_unit

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth", "twenty-first",
)  # fmt: skip
BEFORE_OUR_ERA = r"\s?(?:BCE?\b|B\.\s?C\.(?:\s?E\.)?)"
OUR_ERA = r"\s?(?:AD|CE|A\.\s?D\.|C\.\s?E\.)(?!\w)"
# Python's `re` requires lookbehinds of a fixed width, so each form has its own lookbehind.
APPROXIMATE = r"(?<!c\. )(?<!c\.)(?<!ca\. )(?<!circa )(?<!around )(?<!about )"
NUMBER_BEFORE = r"(?<![\w,.$€£#/\u2013-])"
YEAR_BEFORE = r"(?<![\w$€£#/])(?<!\d[,.])"
"""Lookbehinds for a year that is not part of a word or number; `1955` in `1879-1955` is allowed."""
ENDING = r"(?:st|nd|rd|th)?"
COMMA = "(?: ?,)?"
"""A pattern for the comma before a year; published tokenized texts also have a space before the comma."""
EARLY = 1000
"""The earliest year that matches without an era, because a smaller number may not be a year."""


@dataclass(frozen=True)
class DateTarget:
    """A date that a text may mention.

    year: the historical year, negative before 1 CE. precision: Wikibase's code, a value of `Precision`.
    """

    year: int
    month: int | None
    day: int | None
    precision: int
    calendar: Calendar = "gregorian"


MentionTarget = NameTarget | AmountTarget | DateTarget


def find_date(text: str, target: DateTarget) -> tuple[int, int] | None:
    """Find the first mention of a date in a text, as (start, end) in characters, or None.

    A text with only the month does not mention a day in that month, but a text with any day of a year
    mentions the year. From 1582 to 1923, a day also matches its date in the other calendar, Julian or
    Gregorian.
    """
    pattern = _match_date(target)
    found = pattern.search(text) if pattern else None
    return found.span() if found else None


@lru_cache(maxsize=8192)
def _match_date(target: DateTarget) -> re.Pattern[str] | None:
    forms = list(_list_forms(target))
    return re.compile("|".join(forms)) if forms else None


def _list_forms(target: DateTarget) -> Iterator[str]:
    year, month, day = target.year, target.month, target.day
    if target.precision == Precision.DAY and month and day:
        for date in _name_day(year, month, day, target.calendar):
            yield from _write_day(*date)
    elif target.precision == Precision.MONTH and month:
        yield from _write_month(year, month)
    elif target.precision == Precision.YEAR:
        yield _write_year(year)
    elif target.precision == Precision.DECADE and year > 0:
        yield rf"{NUMBER_BEFORE}{year // 10 * 10}'?s(?!\w)"
    elif target.precision in (Precision.CENTURY, Precision.MILLENNIUM):
        span, word = (100, "century") if target.precision == Precision.CENTURY else (1000, "millennium")
        yield _write_period((abs(year) - 1) // span + 1, word, before=year < 0)


def _name_day(year: int, month: int, day: int, calendar: Calendar) -> Iterator[tuple[int, int, int]]:
    yield year, month, day
    other: Calendar = "julian" if calendar == "gregorian" else "gregorian"
    # Before 1582 only the Julian calendar was in use, and after 1923 no country used it any more.
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
    # 1998-99 is a season and not a year; 1998-03-14 is a day in that year.
    span = r"[/\u2013]\d\d(?!\d)|-\d\d(?!\d|-\d)"
    return rf"{YEAR_BEFORE}{APPROXIMATE}{year}(?!\d|[,.]\d|{span}|{BEFORE_OUR_ERA})"


def _write_dated_year(year: int) -> str:
    """Return a pattern for a year that follows a day or month.

    In this position, a number counts as a year even without an era.
    """
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


def make_targets(
    facts: Sequence[Fact], things: Sequence[Thing], rounding: Decimal
) -> Iterator[tuple[Fact, NameTarget | None, MentionTarget | None]]:
    """Yield each fact with the search patterns for its entity and its value.

    A pattern is None if the entity has no name, or if no text can mention the value.
    """
    used = {fact.entity for fact in facts} | {fact.value.item for fact in facts if fact.value.item}
    names = {thing.id: make_names(thing.label, thing.aliases) for thing in things}
    longer = find_longer(
        {name for thing in used for name in names.get(thing, ())},
        (name for titles in names.values() for name in titles),
    )
    by_id = {thing.id: thing for thing in things}

    def name_thing(thing: str, *, parts: bool = False) -> NameTarget | None:
        own = names.get(thing, ())
        hiding = {other for name in own for other in longer.get(name, ())} - set(own)
        return NameTarget(own, tuple(sorted(hiding)), parts) if own else None

    for fact in sorted(facts, key=lambda fact: fact.id):
        saying = SAYINGS.get(fact.relation)
        value = (
            name_thing(fact.value.item or "", parts=saying is not None and saying.parts)
            if fact.value.kind == ITEM
            else make_value_target(fact, by_id, rounding)
        )
        yield fact, name_thing(fact.entity), value


def make_value_target(fact: Fact, things: Mapping[str, Thing], rounding: Decimal) -> MentionTarget | None:
    """Return the search pattern for a fact's amount, date or text; None if no text can mention the value."""
    value = fact.value
    if value.kind == QUANTITY and value.amount is not None:
        return _make_amount(Decimal(value.amount), things.get(value.unit or ""), value.unit, rounding)
    if value.kind == TIME and value.year is not None and value.precision is not None:
        calendar = CALENDARS.get(value.calendar or "", "gregorian")
        return DateTarget(value.year, value.month, value.day, value.precision, calendar)
    return NameTarget(make_names(value.text)) if value.text else None


def _make_amount(
    amount: Decimal, unit: Thing | None, given: str | None, rounding: Decimal
) -> AmountTarget | None:
    if given is None:
        return AmountTarget(amount, most=rounding)
    if unit is None:
        return None
    if found := find_unit(unit.label):
        return AmountTarget(amount, found, most=rounding)
    return AmountTarget(
        amount, names=tuple(sorted({unit.label, *unit.aliases}, key=len, reverse=True)), most=rounding
    )


def find_mention(text: str, target: MentionTarget, headers: Sequence[str] = ()) -> str:
    """Return the words of a text that mention an entity or a value; empty if there is no mention.

    headers: the headers of a cell or an infobox entry, which may contain the unit of an amount.
    """
    if isinstance(target, NameTarget):
        found = find_name(text, target)
    elif isinstance(target, AmountTarget):
        found = find_amount(text, target, headers)
    else:
        found = find_date(text, target)
    return text[slice(*found)] if found else ""
