"""Find values that are hard to distinguish: `Anker`, `anker` and `Anker ` with a trailing space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

BETWEEN_WORDS = re.compile(r"[\s/_]")


def fold(text: str) -> str:
    """Normalise a string for comparison: NFC, case-folded, single spaces, no punctuation or invisible marks.

    Hyphens, dashes, slashes and underscores become spaces. A string that consists only of punctuation is
    unchanged.
    """
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    if plain.isascii() and plain.isalnum():
        return plain
    kept = "".join(map(_fold_character, plain))
    return " ".join(kept.split()) or " ".join(plain.split())


def _fold_character(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Pd" or kind.startswith("Z") or BETWEEN_WORDS.match(character):
        return " "
    return "" if kind[0] in "PC" or kind == "Lm" else character


def find_look_alikes(values: Iterable[object]) -> frozenset[str]:
    """Return the strings that look like another of the given distinct values.

    Memory use grows with the number of values.
    """
    first: dict[str, str] = {}
    found: set[str] = set()
    for value in values:
        if isinstance(value, str):
            other = first.setdefault(fold(value), value)
            if other != value:
                found |= {other, value}
    return frozenset(found)
