"""Normalise two query results, so that cells are equal if and only if the engine treats them as equal.

A server can return the same value as different strings: `1 day` and `24:00:00`, `2020-01-31` and `2020-01-31
00:00:00`, `{"a": 1}` and `{"a": 1.0}`. Which strings are equal depends on the column types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, InvalidOperation

from tasks.scoring.sql_rules import Row, Rows

Result = tuple[Rows, Sequence[str]]
"""Rows, and the engine's type name for each column."""
ARRAY = "[]"
MOMENT = re.compile(
    r"(?P<day>-?\d{4,}-\d\d-\d\d)(?: (?P<time>\d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00)?)?(?P<era> BC)?"
)
MIDNIGHT = "00:00:00"
UNITS = re.compile(r"([+-]?\d+) (year|mon|day)s?")
CLOCK = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d(?:\.\d+)?)\Z")
DAYS = {"year": 360, "mon": 30, "day": 1}
"""Unit of an interval -> number of days, as in PostgreSQL's comparison of intervals."""
BOUNDS = re.compile(r"([\[(])(.*), (.*)([\])])", re.DOTALL)
FAMILIES = {
    "date": "moment",
    "timestamp": "moment",
    "timestamptz": "moment",
    "datetime": "moment",
    "time": "time",
    "interval": "interval",
    "json": "json",
    "jsonb": "json",
    "numrange": "numrange",
    "nummultirange": "numrange[]",
}
"""Type -> family; cells of types in the same family may be equal even if their strings differ."""


def make_comparable(gold: Result, predicted: Result) -> tuple[Rows, Rows]:
    """Normalise the cells of two results; a family of types is converted only if both results contain it.

    If only one result contains dates, a date equals a string with the same characters, as in SQLite. If both
    results contain dates, a date also equals a timestamp at midnight. Bytes and non-finite numbers never
    equal a string.
    """
    families = [{_find_family(name) for name in types} for _, types in (gold, predicted)]
    shared = families[0] & families[1]
    return _convert_rows(gold, shared), _convert_rows(predicted, shared)


def _find_family(name: str) -> str:
    element = name.removesuffix(ARRAY)
    return FAMILIES.get(element, element) + name[len(element) :]


def _convert_rows(result: Result, shared: set[str]) -> Rows:
    rows, types = result
    converters = {
        place: convert for place, name in enumerate(types) if (convert := _find_converter(name, shared))
    }
    if not converters:
        return rows
    return [_convert_row(row, converters) for row in rows]


def _convert_row(row: Row, converters: dict[int, Callable[[Hashable], Hashable]]) -> Row:
    cells = list(row)
    for place, convert in converters.items():
        if cells[place] is not None:
            cells[place] = convert(cells[place])
    return tuple(cells)


def _find_converter(name: str, shared: set[str]) -> Callable[[Hashable], Hashable] | None:
    """Return the conversion for a type's non-NULL cells; None if the cells remain unchanged."""
    family = _find_family(name)
    if family in ALWAYS:
        return ALWAYS[family]
    if family not in shared:
        return None
    if family.endswith(ARRAY):
        element = family.removesuffix(ARRAY)
        convert = ALWAYS.get(element) or WITHIN_FAMILY.get(element) or _keep
        return lambda cell: _convert_array(cell, convert)
    return WITHIN_FAMILY.get(family)


def _convert_array(cell: Hashable, convert: Callable[[Hashable], Hashable]) -> Hashable:
    """Convert the elements of an array in JSON format."""

    def convert_nested(value: object) -> Hashable:
        if isinstance(value, list):
            return ("array", *map(convert_nested, value))
        return None if value is None else convert(_tag_number(value))

    try:
        return convert_nested(json.loads(str(cell)))
    except (ValueError, RecursionError):
        return cell


def _keep(value: Hashable) -> Hashable:
    return value


def _tag_number(value: object) -> Hashable:
    """Convert a non-finite number to a pair, so that NaN equals NaN but never equals a string."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return ("number", str(value))
    return value if isinstance(value, Hashable) else str(value)


def _convert_number(cell: Hashable) -> Hashable:
    return ("number", cell.lower()) if isinstance(cell, str) else cell


def _convert_bytes(cell: Hashable) -> Hashable:
    return bytes.fromhex(cell) if isinstance(cell, str) else cell


def _convert_bits(cell: Hashable) -> Hashable:
    """Convert a cell of MariaDB's BIT type from hex digits to a number, as the engine does for comparison."""
    return int(cell or "0", 16) if isinstance(cell, str) else cell


def _convert_fixed_text(cell: Hashable) -> Hashable:
    """Remove the trailing blanks from a CHAR(n) cell."""
    return cell.rstrip(" ") if isinstance(cell, str) else cell


def _convert_moment(cell: Hashable) -> Hashable:
    """Normalise a date or timestamp: drop a time that is midnight, and drop the time zone.

    The time zone is always UTC, because the session is in UTC.
    """
    found = MOMENT.fullmatch(cell) if isinstance(cell, str) else None
    if found is None:
        return cell
    time = _convert_time(found["time"] or MIDNIGHT)
    return found["day"] + (f" {time}" if time != MIDNIGHT else "") + (found["era"] or "")


def _convert_time(cell: Hashable) -> Hashable:
    """Remove trailing zeros from the fraction of a second."""
    return cell.rstrip("0").rstrip(".") if isinstance(cell, str) and "." in cell else cell


def _convert_interval(cell: Hashable) -> Hashable:
    """Convert an interval to `("interval", microseconds)`; a month has 30 days, a year 360."""
    text = str(cell)
    days = sum(int(number) * DAYS[unit] for number, unit in UNITS.findall(text))
    clock = CLOCK.search(text)
    seconds = Decimal(0)
    if clock is not None:
        seconds = int(clock[2]) * 3600 + int(clock[3]) * 60 + Decimal(clock[4])
    return (
        "interval",
        int((days * 86_400 + (-seconds if clock and clock[1] == "-" else seconds)) * 1_000_000),
    )


def _convert_json(cell: Hashable) -> Hashable:
    """Convert JSON to a hashable value; the order of keys has no effect, and 1 equals 1.0."""
    try:
        return ("json", _freeze(json.loads(str(cell), parse_float=Decimal)))
    except (ValueError, RecursionError, InvalidOperation):
        return cell


def _freeze(value: object) -> Hashable:
    if isinstance(value, dict):
        return ("object", frozenset((key, _freeze(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return ("array", *map(_freeze, value))
    # In Python, True equals 1; in JSON, true and 1 differ.
    return ("truth", value) if isinstance(value, bool) else value if isinstance(value, Hashable) else None


def _convert_numrange(cell: Hashable) -> Hashable:
    found = BOUNDS.fullmatch(cell) if isinstance(cell, str) else None
    if found is None:
        return cell
    return ("range", found[1], *(_read_decimal(found[place]) for place in (2, 3)), found[4])


def _read_decimal(text: str) -> Hashable:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return number if number.is_finite() else text


ALWAYS: dict[str, Callable[[Hashable], Hashable]] = {
    "bytea": _convert_bytes,
    "bits": _convert_bits,
    "bpchar": _convert_fixed_text,
    "float4": _convert_number,
    "float8": _convert_number,
    "numeric": _convert_number,
}
WITHIN_FAMILY: dict[str, Callable[[Hashable], Hashable]] = {
    "moment": _convert_moment,
    "time": _convert_time,
    "interval": _convert_interval,
    "json": _convert_json,
    "numrange": _convert_numrange,
}
