"""Convert database values to plain text for templates and answers, and to the form used in sentences.

Each `write_` function has an inverse `read_` function. A kind is a column's type, or `moment` for a date with
a time. If the kind is unknown (empty), a text in ISO date format counts as a date.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal

from tasks.databases.columns import Column
from tasks.databases.values import Value

DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?::(\d\d(?:\.\d+)?))?(?:Z|\+00(?::00)?)?")
LARGE = re.compile(r"(-?)([1-9]\d{4,})(\.\d+)?")
"""Matches numbers with five or more digits, whose thousands are separated by commas."""
NUMBERS = ("integer", "real")
SAID_DATE = re.compile(r"(\d{1,2}) ([A-Z][a-z]+) (\d{4})")
SAID_MOMENT = re.compile(r"(\d{1,2} [A-Z][a-z]+ \d{4}), (\d\d:\d\d)(:\d\d(?:\.\d+)?)?")
MONTHS = {name: number for number, name in enumerate(month_name) if name}


def name_kinds(columns: Iterable[Column]) -> Mapping[str, str]:
    """Map each column id to the kind of the column's values."""
    return {column.id: column.form or column.type for column in columns}


def write_plain(value: Value) -> str:
    """Return a value as plain text, such as `2` for 2.0.

    A float from 0.0001 to 1e10 gets at most ten significant digits. Larger floats up to 1e20 and smaller
    floats down to 1e-19 keep all digits. Beyond these limits, the text has at most ten digits and an
    exponent.
    """
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.10g}"
    if "e" not in text or not -20 < Decimal(text).adjusted() < 20:
        return text
    # All digits before the decimal point are kept: ten significant digits would truncate larger amounts.
    plain = f"{Decimal(repr(value)):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def read_plain(text: str, kind: str) -> Value:
    """Convert plain text back to a value for comparison in a query. Raises ValueError for invalid text."""
    if kind == "integer" or (kind == "real" and re.fullmatch(r"-?\d+", text)):
        return int(text)
    return float(text) if kind == "real" else text


def round_bound(value: Value) -> Value:
    """Round a float to the precision of its plain text, so that SQL and text contain the same bound."""
    return float(write_plain(value)) if isinstance(value, float) else value


def write_said(text: str, kind: str = "", *, grouped: bool = False) -> str:
    """Convert a value's plain text to its form in a sentence: 23 March 1978; 17 July 1996, 10:30.

    Dates are converted, except in text columns. `grouped`: also separate the thousands of large numbers, as
    in 5,000,000. All other values are unchanged.
    """
    if kind in ("date", "moment", "") and (said := _say_time(text)):
        return said
    if grouped and kind in ("", *NUMBERS) and (found := LARGE.fullmatch(text)):
        return f"{found[1]}{int(found[2]):,}{found[3] or ''}"
    return text


def read_said(text: str, kind: str) -> str:
    """Convert a value's form in a sentence back to its plain text."""
    if kind in ("date", "moment"):
        if found := SAID_MOMENT.fullmatch(text):
            return f"{_read_day(found[1])} {found[2]}{found[3] or ':00'}"
        return _read_day(text)
    return text.replace(",", "") if kind in NUMBERS else text


def _say_time(text: str) -> str:
    moment = MOMENT.fullmatch(text)
    found = DATE.fullmatch(moment[1] if moment else text)
    try:
        day = date(*map(int, found.groups())) if found else None
    except ValueError:
        return ""
    if day is None:
        return ""
    said = f"{day.day} {month_name[day.month]} {day.year}"
    if moment is None:
        return said
    seconds = (moment[3] or "").rstrip("0").rstrip(".") if "." in (moment[3] or "") else moment[3] or ""
    return f"{said}, {moment[2]}" + (f":{seconds}" if seconds.strip("0") else "")


def _read_day(text: str) -> str:
    found = SAID_DATE.fullmatch(text)
    return f"{found[3]}-{MONTHS[found[2]]:02d}-{int(found[1]):02d}" if found else text
