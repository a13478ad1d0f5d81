"""Apply skills to amounts: conversion to another unit or scale, and approximation (TANQ, section 3.3).

This module also defines unit names, and the target unit of each conversion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from tasks.english import make_plural
from tasks.tanq.graph.showing import show_amount
from tasks.tanq.units import convert, find_unit

SCALES = {"thousands": 3, "millions": 6, "billions": 9}
"""Map each scale for plain numbers to its power of ten."""
STEPS = {
    10: "ten", 100: "hundred", 1_000: "thousand", 10_000: "ten thousand", 100_000: "hundred thousand",
    1_000_000: "million", 10_000_000: "ten million", 100_000_000: "hundred million",
    1_000_000_000: "billion",
}  # fmt: skip
"""Map each step for rounding amounts to its name in a question."""
DIGITS = 3
"""Number of significant digits of a converted amount below 100."""


@dataclass(frozen=True)
class UnitWords:
    """The names of a unit.

    - one, many: the singular and the plural, such as `mile` and `miles`.
    - sign: the symbol in headers, such as `mi`.
    - pint: the name in the library Pint.
    - other: the target unit of conversions; empty if amounts are not converted.
    """

    one: str
    many: str
    sign: str
    other: str = ""
    pint: str = ""


WORDS: Mapping[str, UnitWords] = {
    words.one: words
    for words in (
        UnitWords("millimetre", "millimetres", "mm", "inch", "millimeter"),
        UnitWords("centimetre", "centimetres", "cm", "inch", "centimeter"),
        UnitWords("metre", "metres", "m", "foot", "meter"),
        UnitWords("kilometre", "kilometres", "km", "mile", "kilometer"),
        UnitWords("inch", "inches", "in", "centimetre", "inch"),
        UnitWords("foot", "feet", "ft", "metre", "foot"),
        UnitWords("mile", "miles", "mi", "kilometre", "mile"),
        UnitWords("square metre", "square metres", "m²", "square foot", "meter ** 2"),
        UnitWords("square foot", "square feet", "sq ft", "square metre", "foot ** 2"),
        UnitWords("square kilometre", "square kilometres", "km²", "square mile", "kilometer ** 2"),
        UnitWords("square mile", "square miles", "sq mi", "square kilometre", "mile ** 2"),
        UnitWords("hectare", "hectares", "ha", "acre", "hectare"),
        UnitWords("acre", "acres", "acres", "hectare", "acre"),
        UnitWords("gram", "grams", "g", "ounce", "gram"),
        UnitWords("ounce", "ounces", "oz", "gram", "ounce"),
        UnitWords("kilogram", "kilograms", "kg", "pound", "kilogram"),
        UnitWords("pound", "pounds", "lb", "kilogram", "pound"),
        UnitWords("tonne", "tonnes", "t", "", "metric_ton"),
        UnitWords("second", "seconds", "s", "minute", "second"),
        UnitWords("minute", "minutes", "min", "hour", "minute"),
        UnitWords("hour", "hours", "h", "minute", "hour"),
        UnitWords("day", "days", "days", "", "day"),
        UnitWords("year", "years", "years", "", "year"),
        UnitWords("kilometre per hour", "kilometres per hour", "km/h", "mile per hour", "kilometer / hour"),
        UnitWords("mile per hour", "miles per hour", "mph", "kilometre per hour", "mile / hour"),
        UnitWords("degree Celsius", "degrees Celsius", "°C", "degree Fahrenheit", "degree_Celsius"),
        UnitWords("degree Fahrenheit", "degrees Fahrenheit", "°F", "degree Celsius", "degree_Fahrenheit"),
        UnitWords("percent", "percent", "%", "", "percent"),
    )
}
"""Map the singular name of each unit to all its names."""


def find_words(label: str) -> UnitWords | None:
    """Return the names of the unit with the given label, such as `square kilometers`, or None.

    Returns None for an empty label, which means a plain number. The names of a unit that is not in `WORDS`
    are derived from the label.
    """
    label = " ".join(label.split())
    if not label:
        return None
    for words in WORDS.values():
        if label.casefold() in (words.one.casefold(), words.many.casefold()) or label == words.sign:
            return words
    name = find_unit(label)
    known = next((words for words in WORDS.values() if name and words.pint == name), None)
    return known or UnitWords(label, make_plural(label), label, "", name or "")


def convert_scale(amount: Decimal, scale: str) -> Decimal:
    """Convert a plain number to thousands, millions or billions. Raises KeyError for any other scale."""
    return amount.scaleb(-SCALES[scale])


def convert_unit(amount: Decimal, unit: str, other: str) -> Decimal:
    """Convert an amount between units, given by their names in `WORDS`.

    Raises ValueError if the units have different dimensions.
    """
    converted = convert(amount, WORDS[unit].pint, WORDS[other].pint)
    if converted is None:
        raise ValueError(f"{unit} cannot be converted to {other}")
    return converted


def approximate(amount: Decimal, step: int) -> Decimal:
    """Round to the nearest multiple of a step; halves are rounded away from zero."""
    return (amount / step).quantize(Decimal(1), ROUND_HALF_UP) * step


def round_converted(amount: Decimal) -> Decimal:
    """Round a converted amount: to an integer if at least 100, otherwise to three significant digits."""
    if not amount:
        return Decimal(0)
    last = 0 if abs(amount) >= 100 else amount.adjusted() - DIGITS + 1
    return amount.quantize(Decimal(1).scaleb(last), ROUND_HALF_UP)


def say_number(amount: Decimal) -> str:
    """Format an amount for a sentence: `500,000`, `2.5 million`."""
    for power, word in ((9, "billion"), (6, "million")):
        short = amount.scaleb(-power)
        if abs(short) >= 1 and short == short.quantize(Decimal("0.1")):
            return f"{show_amount(short)} {word}"
    return f"{Decimal(show_amount(amount)):,}"
