"""Convert the names of columns to words: `films.box_office_usd` becomes `box office` in `US dollars`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.databases.columns import Column, split_column_id

UNITS = {
    "usd": "US dollars", "eur": "euros", "gbp": "pounds sterling", "minutes": "minutes", "hours": "hours",
    "days": "days", "miles": "miles", "km": "kilometres", "feet": "feet", "metres": "metres",
    "inches": "inches", "fahrenheit": "degrees Fahrenheit", "celsius": "degrees Celsius",
    "mph": "miles per hour", "millibars": "millibars", "kg": "kilograms", "percent": "percent",
    "score": "points",
}  # fmt: skip
"""Map the last word of a column's name to the written-out unit."""
ABBREVIATION = 4
"""A name in capitals with at most this many letters is an abbreviation, and remains in capitals."""


def say_amount(column: str) -> tuple[str, str]:
    """Return (words, unit) of a numeric column: (`box office`, `US dollars`). The unit may be empty."""
    words = split_name(split_column_id(column)[1]).split()
    unit = UNITS.get(words[-1].casefold(), "") if len(words) > 1 else ""
    # A word that ends in `ss`, such as `mass`, is singular.
    if len(words) == 1 and re.search(r"[^s]s$", words[0]):
        return f"number of {words[0]}", ""
    return " ".join(words[:-1] if unit and words[-1] != "score" else words), unit


def split_name(name: str) -> str:
    """Split a schema name into words: `job title` for `JOB_TITLE`, `GNP growth` for `GNPGrowth`."""
    if name.isupper() and len(name) > ABBREVIATION:
        name = name.lower()
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")
    return " ".join(
        word if word.isupper() and 1 < len(word) <= ABBREVIATION else word.lower() for word in spaced.split()
    )


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Join words as in a sentence: `a, b and c`."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def find_numbers(text: str) -> list[float]:
    """Find all numbers in a text, including numbers with commas."""
    found = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?", text)
    return [float(number.replace(",", "").rstrip(".")) for number in found]


def names_all(text: str, names: Sequence[str]) -> bool:
    """Return whether a text contains every name as whole words, ignoring case."""
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in names)


def describe_tables(columns: Sequence[Column]) -> str:
    """Describe tables for a prompt: one line per table with its columns."""
    tables = dict.fromkeys(column.table for column in columns)
    return "\n".join(
        f"{table}: {', '.join(column.name for column in columns if column.table == table)}"
        for table in tables
    )
