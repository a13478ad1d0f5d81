"""Convert values in SPARQL results, which use Wikibase's RDF format.

RDF differs from Wikibase's JSON in four ways. Years are astronomical (0 is 1 BCE). Dates in the Julian
calendar are written as Gregorian dates. A number without a unit has the unit Q199. An unknown value is a
blank node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from tasks.sources.wikidata.calendars import convert, count_days, to_historical
from tasks.sources.wikidata.report import NO_VALUE, OTHER_TYPE, UNKNOWN_VALUE
from tasks.sources.wikidata.snaks import KeptOut, name_entity, read_calendar
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

Term = Mapping[str, str]
Binding = Mapping[str, Term]
DATE = re.compile(r"([+-]?)(\d{1,16})-(\d\d)-(\d\d)T[\d:.]+(?:Z|[+-]00:00)?")
PLAIN_NUMBER = "Q199"
UNKNOWN = "/.well-known/genid/"
TYPES = {"WikibaseItem": "item", "WikibaseProperty": "item", "Time": "time", "Quantity": "quantity",
         "Monolingualtext": "text"}  # fmt: skip


def read_value(binding: Binding) -> Value:
    """Return the value in a result row.

    Raises NoValue if it is invalid, and KeptOut if it is not supported.
    """
    kind = cut(binding, "type", "#")
    if kind not in TYPES:
        raise KeptOut(OTHER_TYPE, kind)
    simple = binding.get("simple")
    if simple is None and not binding.keys() & {"time", "amount"}:
        raise KeptOut(NO_VALUE)
    if simple is not None and (simple["type"] == "bnode" or UNKNOWN in simple["value"]):
        raise KeptOut(UNKNOWN_VALUE)
    if TYPES[kind] == "time":
        return read_time(binding)
    if TYPES[kind] == "quantity":
        return read_quantity(binding)
    if simple is None:
        raise NoValue("has no value")
    if TYPES[kind] == "text":
        return make_text(simple["value"], simple.get("xml:lang"))
    return make_item(simple["value"].rsplit("/", 1)[-1])


def read_time(binding: Binding) -> Time:
    """Return the time in a result row, as Wikibase's JSON states it. Raises NoValue if it is invalid."""
    found = DATE.fullmatch(take(binding, "time"))
    precision = take(binding, "precision")
    if found is None or not (precision.isdecimal() and len(precision) < 3):
        raise NoValue(f"{show(take(binding, 'time'))} is not a time")
    calendar = read_calendar(take(binding, "calendar"))
    number = int(found[2])
    year, month, day = to_historical(-number if found[1] == "-" else number), int(found[3]), int(found[4])
    # RDF has days of the Julian calendar as Gregorian dates; Wikibase's JSON has them unconverted.
    if int(precision) == Precision.DAY and calendar == "julian":
        if not (1 <= month <= 12 and 1 <= day <= count_days(year, month, "gregorian")):
            raise NoValue(f"{show(found[0])} is not a valid date in the Gregorian calendar")
        year, month, day = convert((year, month, day), "gregorian", "julian")
    return make_date(year, month, day, int(precision), calendar)


def read_quantity(binding: Binding) -> Quantity:
    """Return the quantity in a result row. Raises NoValue if the quantity is invalid."""
    unit = name_entity(take(binding, "unit"))
    lower, upper = (_read_bound(binding, name) for name in ("lower", "upper"))
    amount = make_amount(take(binding, "amount"))
    return Quantity(amount, None if unit == PLAIN_NUMBER else unit, lower, upper)


def take(binding: Binding, name: str) -> str:
    """Return the value of a variable. Raises NoValue if the variable is unbound."""
    if name not in binding:
        raise NoValue(f"has no {name}")
    return binding[name]["value"]


def cut(binding: Binding, name: str, at: str = "/") -> str:
    """Return the part of a variable's URL after the last `at`. Raises NoValue if the variable is unbound."""
    return take(binding, name).rsplit(at, 1)[-1]


def _read_bound(binding: Binding, name: str) -> Decimal | None:
    return make_amount(binding[name]["value"]) if name in binding else None
