"""Convert table cells to Wikidata values, by the kind of their column.

A cell is a plain SQL value, or text as exported from Wikidata's query service. Its exports contain items as
URLs, dates with T and Z, and literals with a language or type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Literal

from tasks.sources.wikidata.calendars import to_historical
from tasks.sources.wikidata.report import UNKNOWN_VALUE
from tasks.sources.wikidata.snaks import KeptOut
from tasks.sources.wikidata.sparql_values import UNKNOWN
from tasks.sources.wikidata.values import (
    NoValue,
    Precision,
    Quantity,
    Time,
    Value,
    make_amount,
    make_date,
    make_item,
    make_text,
    show,
)

Kind = Literal["item", "time", "quantity", "text"]
ITEM = re.compile(
    r"(?:<?https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/(?:Property:)?|wd:)?(?P<id>[QP][1-9]\d{0,14})>?"
)
ADDRESS = re.compile(r"<?https?://\S+>?")
LITERAL = re.compile(r'"(?P<text>.*)"(?:@(?P<language>[A-Za-z][A-Za-z0-9-]*)|\^\^\S+)?', re.DOTALL)
DATE = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{1,16})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?P<clock>[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?P<zone>Z|[+-]00:?00)?)?)?)?"
)
MOST_YEARS = 9_999
"""Maximum number that is read as a year; a larger one may be a Unix time or a date without hyphens."""
PRECISIONS = {"time": Precision.DAY, "month": Precision.MONTH, "year": Precision.YEAR}
"""Kind of a date column -> the finest precision of its dates."""
_PROPERTIES: Mapping[Kind, str] = {
    "item": "P6 P17 P19 P20 P22 P25 P26 P27 P30 P31 P35 P36 P37 P38 P39 P40 P47 P50 P54 P57 P58 P69 "
    "P86 P102 P106 P108 P112 P123 P127 P131 P136 P140 P144 P159 P161 P162 P166 P170 P171 P175 "
    "P176 P178 P264 P272 P276 P279 P361 P364 P407 P413 P449 P463 P495 P527 P641 P710 P740 "
    "P750 P840 P915 P921 P937 P1303 P1376 P1412 P1431 P1441",
    "time": "P569 P570 P571 P574 P575 P576 P577 P580 P582 P585 P606 P619 P729 P730 P1191",
    "quantity": "P1082 P1083 P1098 P1113 P1114 P2043 P2044 P2046 P2047 P2048 P2049 P2050 P2052 P2067 "
    "P2130 P2142 P2437 P2769 P4010",
    "text": "P1448 P1449 P1476 P1559 P1680 P1705 P1813 P2561",
}
KINDS: Mapping[str, Kind] = {name: kind for kind, names in _PROPERTIES.items() for name in names.split()}
"""Frequent properties of Wikidata -> the kind of their values; for other properties, the cells determine the
kind."""


def clean_cell(cell: object) -> tuple[object, str]:
    """Return a cell without surrounding space or RDF quotes (None if empty), and its language if stated."""
    if not isinstance(cell, str):
        return cell, ""
    text, language = cell.strip(), ""
    if found := LITERAL.fullmatch(text):
        text, language = found["text"].strip(), found["language"] or ""
    return text or None, language


def read_id(cell: object) -> str | None:
    """Return the entity id in a cell, which may be an id or a URL; None for any other cell."""
    text, _ = clean_cell(cell)
    found = ITEM.fullmatch(text) if isinstance(text, str) else None
    return found["id"] if found else None


def choose_kind(cells: Iterable[object], property_: str) -> Kind:
    """Return a column's kind: the property's kind if a cell fits it, otherwise the kind of most cells.

    If no kind fits more than half of the cells, the result is `text`. `cells`: the cells that are not empty.
    """
    known = KINDS.get(property_)
    counts: dict[Kind, int] = dict.fromkeys(("item", "time", "quantity"), 0)
    total = 0
    for cell in cells:
        if known is not None and fits(cell, known):
            return known
        total += 1
        for kind in counts:
            counts[kind] += looks_like(cell, kind)
    return next((kind for kind, count in counts.items() if 2 * count > total), "text")


def fits(cell: object, kind: Kind) -> bool:
    """Return whether a cell can be converted to a kind; Wikidata's unknown value fits only `item`."""
    try:
        read_cell(cell, kind)
    except NoValue:
        return False
    except KeptOut:
        return kind == "item"
    return True


def looks_like(cell: object, kind: Kind) -> bool:
    """Return whether a cell looks like a value of this kind only; False for the kind `text`."""
    text, _ = clean_cell(cell)
    if kind == "quantity":
        return isinstance(text, int | float)
    if not isinstance(text, str):
        return False
    if kind == "item":
        return ITEM.fullmatch(text) is not None or UNKNOWN in text
    return kind == "time" and DATE.fullmatch(text) is not None and "-" in text[1:]


def read_cell(cell: object, kind: str, language: str = "en", unit: str | None = None) -> Value:
    """Convert a non-empty cell to a value of its column's kind.

    - `kind`: `item`, `time`, `quantity`, `text`, or `year` or `month` for times with this precision.
    - `language`: the language of text without a stated language.
    - `unit`: the item id of a quantity's unit, or None.

    Raises NoValue if the cell does not fit the kind, and KeptOut if it is Wikidata's unknown value.
    """
    value, told = clean_cell(cell)
    if isinstance(value, str) and UNKNOWN in value:
        raise KeptOut(UNKNOWN_VALUE)
    if kind == "item":
        name = read_id(value)
        if name is None:
            raise NoValue(f"{show(cell)} is not an item")
        return make_item(name)
    if kind in PRECISIONS:
        return read_date(value, PRECISIONS[kind])
    if kind == "quantity":
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise NoValue(f"{show(cell)} is not a number")
        written = value if isinstance(value, str) else format(Decimal(str(value)), "f")
        return Quantity(make_amount(written), unit)
    if isinstance(value, str) and (ITEM.fullmatch(value) or ADDRESS.fullmatch(value)) and "/" in value:
        raise NoValue(f"{show(cell)} is a URL, not text")
    if isinstance(value, str) and (found := DATE.fullmatch(value)) and found["zone"]:
        raise NoValue(f"{show(cell)} is a time, not text")
    return make_text(value, told or language)


def read_date(value: object, finest: Precision = Precision.DAY) -> Time:
    """Convert a cell to a date with a historical year.

    A full date with a time zone is in RDF's format, where the year 0 is 1 BCE. `finest`: the finest precision
    of the result. Raises NoValue if the cell is not a date.
    """
    found = DATE.fullmatch(str(value)) if isinstance(value, str | int) else None
    if found is None:
        raise NoValue(f"{show(value)} is not a date")
    year, month, day = int(found["sign"] + found["year"]), int(found["month"] or 0), int(found["day"] or 0)
    if found["month"] is None and abs(year) > MOST_YEARS:
        raise NoValue(f"{show(value)} is not a year")
    # A month or day of 00 occurs only in Wikibase's JSON format, where years are historical; RDF has no such
    # dates.
    if found["zone"] and month and day:
        year = to_historical(year)
    precision = Precision.DAY if day and month else Precision.MONTH if month else Precision.YEAR
    return make_date(year, month, day, min(precision, finest), "gregorian")
