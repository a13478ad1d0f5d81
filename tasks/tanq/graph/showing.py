"""Format values for tables: names, dates at their precision, and amounts without their unit.

Functions named `say_...` format values for sentences, where some names need an article.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from tasks.sources.wikidata.rows import ValueRow
from tasks.sources.wikidata.values import Precision

ITEM, TIME, QUANTITY, TEXT = "item", "time", "quantity", "text"
"""The kinds of values."""
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
WITH_ARTICLE = re.compile(
    r"(United (States|Kingdom|Arab Emirates|Nations)\b.*|.*\b(Islands|Antilles)"
    r"|Netherlands|Philippines|Maldives|Bahamas|Gambia|Comoros|Seychelles|Caribbean|Middle East|Americas"
    r"|Isle of .*|.*\bRepublic( of .*)?|(Soviet|European) Union|.* Sea|.* Ocean)"
)


def show_value(value: ValueRow, labels: Mapping[str, str]) -> str:
    """Convert a value to one line of text.

    The text is empty for an item without a label and for a time less precise than a millennium. labels: maps
    ids to labels.
    """
    if value.kind == ITEM:
        shown = labels.get(value.item or "", "")
    elif value.kind == TIME:
        shown = show_time(value)
    elif value.kind == QUANTITY and value.amount is not None:
        shown = show_amount(Decimal(value.amount))
    else:
        shown = value.text or ""
    return " ".join(shown.replace("|", " ").split())


def show_amount(amount: Decimal) -> str:
    """Format a number exactly, without an exponent or trailing zeros: `385207`, `1.5`."""
    text = f"{amount:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text.removeprefix("+")


def show_time(value: ValueRow) -> str:
    """Format a date at its precision: `14 March 1879`, `March 1879`, `1879`, `1870s`, `19th century`.

    Millennia are formatted as `3rd millennium`. Years before 1 CE end with BCE. The text is empty for a date
    less precise than a millennium.
    """
    year, precision = value.year, value.precision
    if year is None or precision is None or precision < Precision.MILLENNIUM:
        return ""
    size, era = abs(year), " BCE" if year < 0 else ""
    # Centuries and millennia begin with the year 1: 1900 is in the 19th century, 2000 in the 2nd millennium.
    if precision == Precision.MILLENNIUM:
        return f"{show_ordinal((size + 999) // 1000)} millennium{era}"
    if precision == Precision.CENTURY:
        return f"{show_ordinal((size + 99) // 100)} century{era}"
    if precision == Precision.DECADE:
        return f"{size // 10 * 10}s{era}"
    month = MONTHS[value.month - 1] if value.month and precision >= Precision.MONTH else ""
    day = str(value.day) if value.day and precision >= Precision.DAY else ""
    return " ".join(filter(None, (day, month, f"{size}{era}")))


def show_ordinal(number: int) -> str:
    """Format a number as an ordinal: `1st`, `12th`, `22nd`."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def say_name(label: str) -> str:
    """Return a name as it is used within a sentence: `the Netherlands`, `Peru`."""
    return f"the {label}" if WITH_ARTICLE.fullmatch(label) else label


def say_value(shown: str, condition: str) -> str:
    """Return a value with `the` if the condition or the name requires the article: `the euro`.

    The condition requires `the` if its wording contains the article, as in `use the {}`.
    """
    return f"the {shown}" if "the {}" in condition else say_name(shown)


def say_condition(condition: str, label: str) -> str:
    """Insert a label into a condition, with `the` if needed: `use the euro`, `border the Netherlands`."""
    return condition.format(label if "the {}" in condition else say_name(label))
