"""Find units of measurement by name or symbol, and convert amounts exactly, with Pint."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pint import UnitRegistry

NAME = re.compile(r"[A-Za-zµ°%²³/][A-Za-zµ°%²³/ .-]{0,38}[A-Za-zµ°%²³.]?[23]?")
"""Matches the name of a unit.

Pint evaluates its input as an expression, so text with other characters must never reach it.
"""
WORDS = {"sq": "square", "cu": "cubic", "per cent": "percent", "²": "**2", "³": "**3"}
NOT_UNITS = frozenset({"a", "as", "at", "in", "no", "or", "to", "us", "am", "pm", "h", "d", "b", "are"})
"""English words and single letters that are also unit symbols."""


@lru_cache(maxsize=4096)
def find_unit(name: str) -> str | None:
    """Find the unit with a name or symbol, such as `square kilometres`, `sq mi` or `km2`; None if unknown.

    Returns Pint's canonical name, such as `kilometer ** 2`, so that two names of the same unit compare as
    equal.
    """
    written = " ".join(name.replace("\u00a0", " ").split())
    if not NAME.fullmatch(written) or written.lower() in NOT_UNITS:
        return None
    for spelled in dict.fromkeys((written, written.lower())):
        if found := _parse(_spell(spelled)):
            return found
    return None


def convert(amount: Decimal, unit: str, other: str) -> Decimal | None:
    """Convert an amount between two units; None if their dimensions differ or the amount is out of range.

    unit, other: names that `find_unit` returns.
    """
    if unit == other:
        return amount
    from pint import DimensionalityError

    registry = _load()
    with localcontext(prec=28):
        try:
            converted = registry.Quantity(amount, unit).to(other).magnitude
        except (DimensionalityError, ArithmeticError):
            return None
        return converted if isinstance(converted, Decimal) else Decimal(str(converted))


def _spell(name: str) -> str:
    text = re.sub(r"(?<=[A-Za-z])([23])(?=$|/)", r"**\1", name).replace(".", "")
    text = re.sub(r"\b(sq|cu)\b|per cent|[²³]", lambda found: WORDS[found[0]], text)
    # Pint reads a space as multiplication: "degree Celsius" would be an angle times a temperature difference.
    text = re.sub(r"\bdegrees? (?=celsius\b|fahrenheit\b)", "degree_", text, flags=re.IGNORECASE)
    return re.sub(r"-", "_", text)


@lru_cache(maxsize=4096)
def _parse(name: str) -> str | None:
    try:
        unit = _load().parse_units(name)
    except Exception:  # noqa: BLE001 - whatever Pint raises, the name is of no unit it knows
        return None
    return str(unit) if not unit.dimensionless or name in ("percent", "%") else None


@cache
def _load() -> UnitRegistry[Decimal]:
    # Imported on first use: importing Pint takes a second, and most stages of the flow convert no units.
    from pint import UnitRegistry

    return UnitRegistry(non_int_type=Decimal)
