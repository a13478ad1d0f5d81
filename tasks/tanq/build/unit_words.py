"""How people name units, and which other unit they tell an amount in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.english import make_plural
from tasks.tanq.units import find_unit


@dataclass(frozen=True)
class UnitWords:
    """A unit in words. one, many: `mile`, `miles`; sign: as a header has it, `mi`; pint: Pint's name.

    other: the name of the unit that it is converted to; empty for none.
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
"""By name."""


def find_words(label: str) -> UnitWords | None:
    """Find a unit's words by its label, `square kilometers`; of one that is not listed, make them of it.

    None for no label: a plain number.
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
