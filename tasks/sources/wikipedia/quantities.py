"""Expand quantity templates to the given number and unit, without conversion to other units."""

from __future__ import annotations

import re

from tasks.sources.wikipedia.arguments import Arguments

POWERS = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
EXPONENT = re.compile(r"[-+−]?\d+(?:\.\d+)?")

UNITS = {
    "sqmi": "sq mi", "mi2": "sq mi", "km2": "km²", "m2": "m²", "ft2": "sq ft", "sqft": "sq ft", "sqkm": "km²",
    "sqm": "m²", "s2": "s²", "cm2": "cm²", "mm2": "mm²", "in2": "sq in", "km3": "km³", "m3": "m³",
    "ft3": "cu ft",
    "cuft": "cu ft", "cuin": "cu in", "cumi": "cu mi", "cuyd": "cu yd", "mi3": "cu mi", "c": "°C", "f": "°F",
    "k": "K", "km/h": "km/h", "kph": "km/h", "mph": "mph", "impgal": "imp gal", "usgal": "US gal",
    "nmi": "nmi",
    "lb-f": "lbf", "ltr": "L", "foot": "ft", "feet": "ft", "mile": "mi", "miles": "mi", "inch": "in",
    "metre": "m", "meter": "m", "kilometre": "km", "kilometer": "km", "acre": "acres",
    "long ton": "long tons",
    "lt": "long tons", "short ton": "short tons", "st": "st", "/sqmi": "per sq mi", "pd/sqmi": "per sq mi",
    "pd/km2": "per km²", "/km2": "per km²", "inh/km2": "per km²", "m/s": "m/s", "ft/min": "ft/min",
    "hectare": "ha", "tonne": "t", "e6sqmi": "million sq mi", "e6acre": "million acres",
    "e6usgal": "million US gal",
}  # fmt: skip
"""Lower-case unit in {{convert}} -> the displayed unit; other units are unchanged."""
BETWEEN = {
    "-": "–", "–": "–", "and": " and ", "to": " to ", "or": " or ", "by": " by ", "x": " × ", "×": " × ",
    "+": " + ", "and(-)": " and ", "to(-)": " to ", "&": " & ", "xx": " × ", "*": " × ", "±": " ± ",
    "+/-": " ± ",
}  # fmt: skip
SYMBOLS = {
    "us$": "US$", "usd": "US$", "$": "$", "a$": "A$", "aud": "A$", "c$": "C$", "cad": "C$", "£": "£",
    "gbp": "£",
    "pound sterling": "£", "€": "€", "euro": "€", "eur": "€", "inr": "₹", "indian rupee": "₹", "¥": "¥",
    "jpy": "¥",
    "cny": "CN¥", "nz$": "NZ$", "hk$": "HK$", "pkr": "Rs.", "krw": "₩", "won sign": "₩", "₱": "₱",
    "philippine peso": "₱",
}  # fmt: skip
"""Name of a currency template -> the symbol before the amount."""
RUPEES = {
    "k": "thousand", "l": "lakh", "m": "million", "c": "crore", "b": "billion", "t": "trillion",
    "lc": "lakh crore",
}  # fmt: skip


def expand_convert(arguments: Arguments) -> str:
    """Expand {{convert|5|km|mi}} to `5 km`, and {{convert|6|ft|2|in}} to `6 ft 2 in`.

    Ranges are also expanded: {{convert|5|-|6|km}} to `5–6 km`.
    """
    given = list(arguments.positional)
    given = [_write_number(part) for part in given]
    text = given.pop(0) if given else ""
    while len(given) > 1 and given[0].lower() in BETWEEN:
        text += BETWEEN[given[0].lower()] + given[1]
        given = given[2:]
    if given:
        text += f" {name_unit(given[0])}"
    # A second number with a unit belongs to the same quantity, as in feet and inches.
    if len(given) > 2 and _is_number(given[1]) and not _is_number(given[2]):
        text += f" {given[1]} {name_unit(given[2])}"
    return text.strip()


def expand_height(arguments: Arguments) -> str:
    """Expand {{height|ft=6|in=2}} to `6 ft 2 in` and {{height|m=1.85}} to `1.85 m`."""
    order = ("ft", "in", "m", "cm")
    found = [f"{arguments.named[unit]} {unit}" for unit in order if arguments.named.get(unit)]
    return " ".join(found) or expand_convert(arguments)


def expand_value(arguments: Arguments) -> str:
    """Expand {{val|1.23|0.05|u=kg|up=m3}} to `1.23 ± 0.05 kg/m³`."""
    number, second, third = (arguments.at(place) for place in range(3))
    if second in BETWEEN:
        number += BETWEEN[second] + third
    elif second.startswith("("):
        number += second
    elif second:
        number += f" +{second.lstrip('+')}/−{third.lstrip('-−')}" if third else f" ± {second}"
    if power := arguments.first("e"):
        number = f"({number})" if second and not second.startswith("(") else number
        number += f" × 10^{power}"
    unit = name_unit(arguments.first("u", "ul"))
    if below := arguments.first("up", "upl"):
        unit += f"/{name_unit(below)}"
    return " ".join(part for part in (number, unit) if part)


def expand_fraction(arguments: Arguments) -> str:
    """Expand {{frac|1|2}} to `1/2` and {{frac|3|1|2}} to `3 1/2`."""
    given = [part for part in arguments.positional if part]
    if len(given) == 1:
        return f"1/{given[0]}"
    return f"{given[0]} {given[1]}/{given[2]}" if len(given) > 2 else "/".join(given)


def expand_power(arguments: Arguments) -> str:
    """Expand the `{{e|24}}` of 5.97{{e|24}} to ` × 10^24`."""
    return f" × 10^{arguments.at(0)}"


def expand_superscript(arguments: Arguments) -> str:
    """Expand {{sup|2}} to `²`; see `raise_text`."""
    return raise_text(arguments.at(0))


def expand_gaps(arguments: Arguments) -> str:
    """Expand {{gaps|299|792|458}} to `299792458`; a page displays the gaps without space characters."""
    number = "".join(arguments.positional)
    if power := arguments.first("e"):
        number += f" × 10^{power}"
    return " ".join(part for part in (number, arguments.first("u")) if part)


def expand_currency(arguments: Arguments) -> str:
    """Expand currency templates such as {{US$|5 million}} to `US$5 million`."""
    return SYMBOLS[arguments.name] + arguments.at(0)


def expand_rupees(arguments: Arguments) -> str:
    """Expand {{INRConvert|500|c}} to `₹500 crore`."""
    return f"₹{arguments.at(0)} {RUPEES.get(arguments.at(1), '')}".strip()


def expand_coordinates(arguments: Arguments) -> str:
    """Expand {{coord|39|06|N|84|30|W|...}} to `39°06′N 84°30′W`, or decimals to `39.1, -84.5`."""
    given = [part.strip() for part in arguments.positional if ":" not in part]
    places = [number for number, part in enumerate(given) if part.upper() in {"N", "S", "E", "W", "O"}]
    if len(places) < 2:
        return ", ".join(part for part in given[:2] if part)
    sides = (given[: places[0] + 1], given[places[0] + 1 : places[1] + 1])
    return " ".join(
        "".join(number + sign for number, sign in zip(side[:-1], "°′″", strict=False)) + side[-1].upper()
        for side in sides
    )


def expand_number(arguments: Arguments) -> str:
    """Expand {{formatnum:12345}} to `12,345`."""
    text = arguments.name.partition(":")[2] or arguments.at(0)
    whole, point, rest = text.strip().partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isascii() and whole.isdigit() and len(whole) < 30 else text


def raise_text(text: str) -> str:
    """Convert an exponent to text: `²` for a short number, `^1234` for a long one, and any word unchanged."""
    if text and len(text) < 4 and not text.strip("0123456789+-−n"):
        return text.translate(POWERS)
    return f"^{text}" if EXPONENT.fullmatch(text) else text


def name_unit(unit: str) -> str:
    """Convert a unit to the form that a page displays."""
    # In {{convert}}, `ST` is a short ton, but `st` is a stone.
    return "short tons" if unit == "ST" else UNITS.get(unit.lower(), unit)


def _write_number(text: str) -> str:
    whole, point, rest = text.partition(".")
    return (
        f"{int(whole):,}{point}{rest}"
        if whole.isascii() and whole.isdigit() and 3 < len(whole) < 30
        else text
    )


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).lstrip("-−").isdigit()
