"""Amounts of one relation in one unit: those in others are converted where that is exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from tasks.sources.wikidata.rows import ValueRow
from tasks.tanq.graph.unit_names import UNIT_NAMES
from tasks.tanq.units import convert, find_unit

MOST_DIGITS = 20
"""A conversion with more digits does not end, as that of 1 m to 3.28 ft: it is not exact."""
INEXACT = frozenset({"year", "month"})
"""Units that are not always equally long."""


def convert_amount(value: ValueRow, unit: str, labels: Mapping[str, str]) -> ValueRow | None:
    """Convert a quantity with its bounds to another unit; None where the conversion is not exact.

    unit: an item's id. labels: id -> label, of the units that the graph names.
    """
    names = [find_unit(UNIT_NAMES.get(name) or labels.get(name, "")) for name in (value.unit or "", unit)]
    written = [value.amount, value.lower, value.upper]
    if not all(names) or INEXACT.intersection(names):
        return None
    converted = [_convert(text, names[0] or "", names[1] or "") if text else None for text in written]
    if converted[0] is None or any(
        bound is None for bound, text in zip(converted, written, strict=True) if text
    ):
        return None
    amount, lower, upper = (None if bound is None else f"{bound:f}" for bound in converted)
    return replace(value, amount=amount, number=float(converted[0]), unit=unit, lower=lower, upper=upper)


def _convert(text: str, unit: str, other: str) -> Decimal | None:
    found = convert(Decimal(text), unit, other)
    if found is None:
        return None
    shortest = found.normalize()
    return shortest if len(shortest.as_tuple().digits) <= MOST_DIGITS else None
