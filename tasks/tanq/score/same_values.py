"""Compare predicted names and values with an answer's names and values, for TANQ's failures (section 5.6).

Relative mapping similarity gives partial credit to similar values. Failures require a stricter comparison:
Austria is not Australia, and 14 March is not 15 March.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from itertools import islice

from rapidfuzz.distance import Levenshtein

from tasks.tanq.graph.showing import QUANTITY, TIME

LIKE = 0.9
"""Minimum similarity (0 to 1) of two spellings of a name; the digits must also be equal."""
NUMBER_CUT = 0.005
"""Maximum difference between two amounts that count as equal, relative to the answer's amount."""
NOTHING = frozenset({
    "", "n a", "na", "none", "null", "nan", "unknown", "not known", "not found", "not available", "not given",
    "not mentioned", "not specified", "missing",
})  # fmt: skip
"""Cell texts that mean a missing value, normalised by `simplify`."""
MOST_PARTS, LONGEST_AMOUNT = 40, 80
"""Maximum number of values per cell, and of characters in an amount."""
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
AMOUNT = re.compile(rf"[^\d\-]*(-?\d[\d,\u00a0\u202f ]*(?:\.\d+)?)\s*({'|'.join(SCALES)})?(\D*)")
POWER = re.compile(r"(?<=[a-z])[23\u00b2\u00b3]\b")
"""Matches the exponent of a unit, as in `km2`."""
REMARK = re.compile(r"\s*\([^()]*\)")
BOUND = r"[;,/&\n]|\band\b"
PARTS = re.compile(r"\s*[;/\n]\s*|,\s+|,(?!\d)|\s+and\s+|\s*&\s*")


@lru_cache(maxsize=4096)
def simplify(text: str) -> str:
    """Normalise case, accents and punctuation, and remove a leading `the` and remarks in parentheses."""
    # A name that consists only of a remark in parentheses is kept.
    return fold(REMARK.sub("", text) or text).removeprefix("the ")


def fold(text: str) -> str:
    """Normalise case, accents and punctuation."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(char for char in decomposed if not unicodedata.combining(char))
    return re.sub(r"[\W_]+", " ", kept).strip()


def is_nothing(text: str) -> bool:
    """Return whether a cell has no value: it is empty, a dash, or a text such as `unknown`."""
    return simplify(text) in NOTHING


def is_same_name(gold: str, said: str) -> bool:
    """Return whether two names are spellings of the same name."""
    one, other = simplify(gold), simplify(said)
    if one == other:
        return bool(one) or gold.strip() == said.strip()
    # Names that differ only in a number name different entities, such as Apollo 11 and Apollo 13.
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    return Levenshtein.normalized_similarity(one, other, score_cutoff=LIKE) >= LIKE


def is_same_value(gold: str, said: str, kind: str) -> bool:
    """Return whether a predicted value equals the answer's value. kind: the kind of the column's values."""
    if kind == TIME:
        return sort_date_words(gold) == sort_date_words(said)
    if kind == QUANTITY:
        amount, told = read_amount(gold), read_amount(said)
        if amount is not None and told is not None:
            return abs(amount - told) <= NUMBER_CUT * abs(amount)
    return is_same_name(gold, said)


@lru_cache(maxsize=4096)
def count_values(gold: tuple[str, ...], said: str, kind: str) -> tuple[int, int]:
    """Return how many of the answer's values a predicted cell contains, and how many other values."""
    if is_nothing(said):
        return 0, 0
    if len(gold) == 1 and is_same_value(gold[0], said, kind):
        return 1, 0
    left, rest = _cut_known(gold, said) if kind not in (QUANTITY, TIME) else (list(gold), said)
    extra = 0
    for part in islice(split_parts(rest, kind), MOST_PARTS):
        found = next((value for value in left if is_same_value(value, part, kind)), None)
        if found is None:
            extra += 1
        else:
            left.remove(found)
    return len(gold) - len(left), extra


def split_parts(text: str, kind: str) -> Iterator[str]:
    """Yield the values of a cell. Cells with dates are split only at semicolons and line breaks."""
    parts = re.split(r"\s*[;\n]\s*", text) if kind == TIME else PARTS.split(text)
    return (part for part in parts if part and simplify(part) not in ("", "and"))


def read_amount(text: str) -> float | None:
    """Parse a text with a single number, such as `385,207 km²` or `5.6 million`; None for other texts."""
    if len(text) > LONGEST_AMOUNT:
        return None
    match = AMOUNT.fullmatch(POWER.sub("", text.casefold().replace("\u2212", "-")))
    if match is None or (match[3] and re.search(r"\d", match[3])):
        return None
    return float(re.sub(r"[,\s]", "", match[1])) * SCALES.get(match[2] or "", 1.0)


def sort_date_words(text: str) -> list[str]:
    """Return the sorted words of a date, with short month names: `March 14, 1879` equals `14 mar 1879`."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        words = simplify(text).split()
    else:
        words = [str(day.day), f"{day:%B}".casefold(), str(day.year)]
    return sorted(_DATE_WORDS.get(word, word.lstrip("0")) for word in words)


def _cut_known(gold: tuple[str, ...], said: str) -> tuple[list[str], str]:
    """Remove the answer's values from a cell, longest first; return missing values and the remaining text.

    A comma or `and` within one of the answer's values therefore does not split the value.
    """
    rest, left = said.strip(), list(gold)
    for value in sorted(gold, key=lambda gold_value: (-len(gold_value), gold_value)):
        # Match only between separators, because a longer name is another entity: `Guinea` in `Equatorial
        # Guinea`.
        pattern = rf"({BOUND}|^)\s*{re.escape(value)}(?:{REMARK.pattern})?\s*(?={BOUND}|$)"
        rest, cut = re.subn(pattern, r"\1;", rest, count=1, flags=re.IGNORECASE)
        if cut:
            left.remove(value)
    return left, rest


_DATE_WORDS = {"bc": "bce"} | {
    name: month[:3]
    for month in (
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
        "november", "december",
    )
    for name in (month, month[:3], "sept" if month == "september" else month)
}  # fmt: skip
