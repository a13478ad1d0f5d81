"""Units of measurement: their names as people write them, and exact conversion, by Pint."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pint import UnitRegistry

NAME = re.compile(r"[A-Za-zµ°%²³/][A-Za-zµ°%²³/ .-]{0,38}[A-Za-zµ°%²³.]?[23]?")
"""What may be a unit's name: Pint reads expressions, so that no other sign is handed to it."""
WORDS = {"sq": "square", "cu": "cubic", "per cent": "percent", "²": "**2", "³": "**3"}
NOT_UNITS = frozenset({"a", "as", "at", "in", "no", "or", "to", "us", "am", "pm", "h", "d", "b", "are"})
"""Words of English that are also symbols of units."""


@lru_cache(maxsize=4096)
def find_unit(name: str) -> str | None:
    """Find a unit by a name or symbol, `square kilometres`, `sq mi` or `km2`; None for none.

    Returns Pint's name of it, `kilometer ** 2`, so that two names of one unit are equal.
    """
    written = " ".join(name.replace("\u00a0", " ").split())
    if not NAME.fullmatch(written) or written.lower() in NOT_UNITS:
        return None
    for spelled in dict.fromkeys((written, written.lower())):
        if found := _parse(_spell(spelled)):
            return found
    return None


def convert(amount: Decimal, unit: str, other: str) -> Decimal | None:
    """Convert an amount from one unit, as `find_unit` names it, to another; None for other dimensions."""
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
    # A blank multiplies for Pint: "degree Celsius" would be an angle times a difference of temperatures.
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
    # Imported when first needed: it takes a second, and most stages of the flow measure nothing.
    from pint import UnitRegistry

    return UnitRegistry(non_int_type=Decimal)
