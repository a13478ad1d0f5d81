"""Say columns in words: `box office in US dollars` for `films.box_office_usd`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.databases.columns import split_column_id
from tasks.longform.rows import Focus

UNITS = {
    "usd": "US dollars", "eur": "euros", "gbp": "pounds sterling", "minutes": "minutes", "hours": "hours",
    "days": "days", "miles": "miles", "km": "kilometres", "feet": "feet", "metres": "metres",
    "inches": "inches", "fahrenheit": "degrees Fahrenheit", "celsius": "degrees Celsius",
    "mph": "miles per hour", "millibars": "millibars", "kg": "kilograms", "percent": "percent",
    "score": "points",
}  # fmt: skip
"""The last word of a column's name -> its unit, written out."""


def say_amount(column: str) -> tuple[str, str]:
    """Return what a numeric column is, and its unit: `box office`, `US dollars`; "" for no unit."""
    words = split_column_id(column)[1].replace("_", " ").split()
    unit = UNITS.get(words[-1].casefold(), "") if len(words) > 1 else ""
    if len(words) == 1 and words[0].endswith("s"):
        return f"number of {words[0]}", ""
    return " ".join(words[:-1] if unit and words[-1] != "score" else words), unit


def say_mean(value: float, column: str) -> str:
    """Write a mean with its unit: `1,234.5 US dollars`."""
    unit = say_amount(column)[1]
    number = f"{value:,.2f}".rstrip("0").rstrip(".") if not float(value).is_integer() else f"{int(value):,}"
    return f"{number} {unit}".strip()


def say_rows(focus: Focus, group: str) -> str:
    """Name the rows of a group: `films of the director Woody Allen`."""
    return f"{focus.table_words} of the {focus.group_words} {group}"


def find_numbers(text: str) -> list[float]:
    """Find all numbers in a text, also with commas in them."""
    found = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?", text)
    return [float(number.replace(",", "").rstrip(".")) for number in found]


def names_all(text: str, names: Sequence[str]) -> bool:
    """Tell whether a text has every name, in any case, as words of its own."""
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in names)
