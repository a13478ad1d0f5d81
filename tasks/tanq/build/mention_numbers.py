"""Find an amount in a text: in digits or words, rounded, or in another unit of the same dimension."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tasks.tanq.units import convert, find_unit

SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "lakh": 10**5,
    "crore": 10**7,
}  # fmt: skip
COUNTS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
"""The number words from 2 to 20; `one` is excluded, because `one` is often a pronoun."""
FIGURE = re.compile(
    r"(?<![\w.,'])(?P<sign>[-\u2212])?(?P<digits>\d{1,3}(?:[,\u00a0\u202f\u2009]\d{3})+(?:\.\d+)?|\d{1,30}(?:\.\d+)?)"
    rf"(?:[ \u00a0-](?P<scale>{'|'.join(SCALES)})\b)?(?![\w]|[.,]\d)",
)
IN_WORDS = re.compile(rf"(?<![\w-])(?P<words>{'|'.join(COUNTS)})(?![\w-])", re.IGNORECASE)
OVER = re.compile(
    r"(?:over|more than|exceed(?:s|ing)|in excess of|at least|above|upwards? of|greater than|>)\s*$",
    re.IGNORECASE,
)
UNDER = re.compile(
    r"(?:nearly|almost|under|less than|fewer than|close to|up to|below|approaching|at most|<)\s*$",
    re.IGNORECASE,
)
FROM = re.compile(
    r"(?:\d[\d,.]*(?: \w+)?\s?[\u2013\u2014-]|\b(?:between|from)\s(?:[\d,.]+(?: \w+)? (?:and|to) )?)\s*$",
    re.IGNORECASE,
)
TO = re.compile(r"\s?(?:[\u2013\u2014]|-(?=\d)|to (?=\d)|and (?=\d))\s?\d")
MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
IN_DATE = re.compile(rf"^,? {MONTH}\b|^, \d{{4}}\b")
OF_DATE = re.compile(rf"\b{MONTH} $")
AFTER = re.compile(r"[\s\u00a0-]?\(?(?P<unit>[A-Za-zµ°%²³./]+[23]?(?:[\s\u00a0][A-Za-zµ²³./]+[23]?){0,2})")
NEAR = 40
"""Number of characters around a figure that are checked for words such as `over`, and for months."""


@dataclass(frozen=True)
class AmountTarget:
    """An amount that a text may mention.

    - unit: the name that `find_unit` returns; empty for a plain number.
    - names: the names of a unit that Pint does not know, such as a currency.
    - most: maximum difference between the amount and a rounded figure, relative to the amount.
    """

    amount: Decimal
    unit: str = ""
    names: tuple[str, ...] = ()
    most: Decimal = Decimal("0.02")


@dataclass(frozen=True)
class WrittenNumber:
    """A number in a text. step: the place value of the last significant digit.

    start, stop: the position in the text, without the unit.
    """

    number: Decimal
    step: Decimal
    start: int
    stop: int


def find_amount(text: str, target: AmountTarget, headers: Sequence[str] = ()) -> tuple[int, int] | None:
    """Find a mention of an amount and its unit in a text, as character positions (start, end).

    Numbers in digits are checked first. Returns None if there is no mention. headers: the headers of a cell
    or an infobox entry, which may contain the unit.
    """
    for written in list_numbers(text):
        before = text[max(0, written.start - NEAR) : written.start]
        if _is_of_range(before, text, written) or _is_of_date(before, text, written):
            continue
        stop = _match(text, written, before, target, headers)
        if stop is not None:
            return written.start, stop
    return None


def list_numbers(text: str) -> Iterator[WrittenNumber]:
    """Yield the numbers of a text: numbers in digits, then numbers in words, each in text order."""
    for found in FIGURE.finditer(text):
        digits = re.sub(r"[,\s]", "", found["digits"])
        scale = Decimal(SCALES[found["scale"]]) if found["scale"] else Decimal(1)
        number = Decimal(digits) * scale * (-1 if found["sign"] else 1)
        yield WrittenNumber(number, _find_step(digits, bool(found["scale"])) * scale, *found.span())
    for found in IN_WORDS.finditer(text):
        number = Decimal(COUNTS.index(found["words"].lower()) + 2)
        yield WrittenNumber(number, Decimal(1), *found.span())


def agrees(amount: Decimal, written: WrittenNumber, before: str, most: Decimal) -> bool:
    """Return whether an amount matches a written number, within the number's rounding.

    before: the words before the number. After `over`, the amount must be at least the number; after `nearly`,
    the amount must be at most the number. most: maximum relative difference.
    """
    difference = amount - written.number
    if abs(difference) > most * abs(amount):
        return False
    if OVER.search(before):
        return 0 <= difference < written.step
    if UNDER.search(before):
        return -written.step < difference <= 0
    return 2 * abs(difference) <= written.step


def _find_step(digits: str, scaled: bool) -> Decimal:
    """Return the place value of the last significant digit, such as 100,000 for `1,300,000`."""
    whole, _, rest = digits.partition(".")
    if rest:
        return Decimal(1).scaleb(-len(rest))
    zeros = 0 if scaled else len(whole) - len(whole.rstrip("0"))
    # At least two digits are significant: 1,000,000 does not match half a million, and 90 does not match 92.
    return Decimal(10) ** max(0, min(zeros, len(whole) - 2))


def _match(
    text: str, written: WrittenNumber, before: str, target: AmountTarget, headers: Sequence[str]
) -> int | None:
    """Return the end position of a figure with its unit; None if the figure is not the amount."""
    unit, stop = _read_unit(text, written.stop)
    if target.names:
        return _match_named(text, written, before, target)
    if not target.unit:
        plain = unit is None and not _looks_like_year(text, written)
        return written.stop if plain and agrees(target.amount, written, before, target.most) else None
    if unit is None:
        unit, stop = _find_header_unit(headers), written.stop
    amount = convert(target.amount, target.unit, unit) if unit else None
    return stop if amount is not None and agrees(amount, written, before, target.most) else None


def _match_named(text: str, written: WrittenNumber, before: str, target: AmountTarget) -> int | None:
    near, rest = before.rstrip(" -"), text[written.stop :]
    ahead = next((name for name in target.names if near.endswith(name)), "")
    behind = next((name for name in target.names if re.match(rf"[\s\u00a0]?{re.escape(name)}", rest)), "")
    if not (ahead or behind) or not agrees(target.amount, written, near.removesuffix(ahead), target.most):
        return None
    return written.stop + len(behind) + (rest[:1].isspace() if behind else 0)


def _read_unit(text: str, start: int) -> tuple[str | None, int]:
    found = AFTER.match(text, start)
    if found is None:
        return None, start
    words = re.split(r"[\s\u00a0]", found["unit"])
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count])
        if unit := find_unit(name.rstrip("./")):
            return unit, found.start("unit") + len(name)
    return None, start


def _find_header_unit(headers: Sequence[str]) -> str | None:
    for header in headers:
        for name in (*re.findall(r"[(\[]([^()\[\]]{1,30})[)\]]", header), header.rpartition("_")[2]):
            if unit := find_unit(name.strip()):
                return unit
    return None


def _is_of_range(before: str, text: str, written: WrittenNumber) -> bool:
    return bool(FROM.search(before)) or bool(TO.match(text, written.stop))


def _is_of_date(before: str, text: str, written: WrittenNumber) -> bool:
    small = written.stop - written.start <= 2
    return small and bool(OF_DATE.search(before) or IN_DATE.match(text[written.stop : written.stop + NEAR]))


def _looks_like_year(text: str, written: WrittenNumber) -> bool:
    return bool(re.fullmatch(r"1\d{3}|20\d{2}|2100", text[written.start : written.stop]))
