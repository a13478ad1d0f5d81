"""Cells as every engine means them: text, whole numbers, fractions and NULL."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

Value = str | int | float | None
LARGEST = 2**63
PLAIN = frozenset({str, int, float, type(None)})


def plain_row(row: Iterable[Any]) -> list[Value]:
    """Turn a driver's row into plain values."""
    return [cell if type(cell) in PLAIN else plain(cell) for cell in row]


def plain(cell: Any) -> Value:
    """Turn a driver's cell into what SQLite holds for the same value.

    Whole decimals are integers, other decimals fractions; booleans are 1 and 0; dates and times are ISO text
    with a space; blobs are hex digits; everything else is its text, JSON in sorted order.
    """
    if cell is None or type(cell) in PLAIN:
        return cell  # type: ignore[no-any-return]
    if isinstance(cell, (bool, int)):
        return int(cell)
    if isinstance(cell, Decimal):
        whole = cell.is_finite() and cell == cell.to_integral_value() and abs(cell) < LARGEST
        return int(cell) if whole else plain_float(float(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return say_duration(cell)
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return bytes(cell).hex()
    if isinstance(cell, (list, tuple, dict)):
        return json.dumps(cell, ensure_ascii=False, sort_keys=True, default=plain)
    return str(cell)


def plain_float(number: float) -> float | str:
    """Give a fraction; one without an end by its name."""
    return number if math.isfinite(number) else str(number)


def say_duration(duration: timedelta) -> str:
    """Write a duration as MariaDB writes a TIME: hours, minutes, seconds."""
    sign, rest = ("-", -duration) if duration < timedelta() else ("", duration)
    hours, seconds = divmod(rest.days * 86_400 + rest.seconds, 3_600)
    fraction = f".{rest.microseconds:06d}" if rest.microseconds else ""
    return f"{sign}{hours:02d}:{seconds // 60:02d}:{seconds % 60:02d}{fraction}"
