"""Convert cells from a driver to values that are equal on every engine: text, integers, floats and NULL."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

Value = str | int | float | None
LARGEST = 2**63
"""The smallest positive integer that is too large for SQLite."""
UNDECODABLE = "\ufffd"
"""The replacement character for bytes that are not valid UTF-8."""
PLAIN = frozenset({str, int, float, type(None)})
"""Types that need no conversion."""


def to_plain_row(row: Iterable[Any]) -> list[Value]:
    """Convert a driver's row to plain values."""
    return [cell if type(cell) in PLAIN else to_plain(cell) for cell in row]


def to_plain(cell: object) -> Value:
    """Convert a driver's cell to a value that is equal on every engine.

    Decimals without a fractional part become integers if they fit into 64 bits; other decimals become floats.
    Booleans become 1 and 0. Dates and times become ISO text, with a space between date and time. Blobs become
    hex digits. Lists and dicts become JSON with sorted keys. Everything else becomes text.
    """
    if cell is None or (isinstance(cell, (str, int, float)) and type(cell) in PLAIN):
        return cell
    if isinstance(cell, (bool, int)):
        return int(cell)
    if isinstance(cell, Decimal):
        whole = cell.is_finite() and cell == cell.to_integral_value() and abs(cell) < LARGEST
        return int(cell) if whole else to_plain_float(float(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return format_duration(cell)
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return bytes(cell).hex()
    if isinstance(cell, (list, tuple, dict)):
        return json.dumps(cell, ensure_ascii=False, sort_keys=True, default=to_plain)
    return str(cell)


def to_plain_float(number: float) -> float | str:
    """Return a finite float unchanged, and any other float as text."""
    return number if math.isfinite(number) else str(number)


def format_duration(duration: timedelta) -> str:
    """Format a duration as MariaDB formats a TIME: hours, minutes and seconds."""
    sign, rest = ("-", -duration) if duration < timedelta() else ("", duration)
    hours, seconds = divmod(rest.days * 86_400 + rest.seconds, 3_600)
    fraction = f".{rest.microseconds:06d}" if rest.microseconds else ""
    return f"{sign}{hours:02d}:{seconds // 60:02d}:{seconds % 60:02d}{fraction}"


def rank_value(value: Value) -> tuple[int, float, str]:
    """Return the sort key of a value: NULL first, then numbers, then text by code points."""
    if value is None:
        return (0, 0, "")
    return (2, 0, value) if isinstance(value, str) else (1, value, "")
