"""Convert the amounts of a relation to one unit, if the conversion is exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from tasks.sources.wikidata.rows import ValueRow
from tasks.tanq.graph.unit_names import UNIT_NAMES
from tasks.tanq.units import convert, find_unit

MOST_DIGITS = 20
"""Maximum number of digits in an exact conversion.

A result with more digits is a non-terminating decimal, such as 1 m in feet, and is not exact.
"""
INEXACT = frozenset({"year", "month"})
"""Units whose length varies."""


def convert_amount(value: ValueRow, unit: str, labels: Mapping[str, str]) -> ValueRow | None:
    """Convert a quantity and its bounds to another unit; None if the conversion is not exact.

    unit: the Wikidata id of the target unit. labels: the labels in the graph, by entity id.
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
