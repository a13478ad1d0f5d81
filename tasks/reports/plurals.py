"""Make the noun phrases on pages agree in number with their counts."""

from __future__ import annotations

import re

from tasks.english import make_singular

WORD = re.compile(r"\b[a-z]+\b")


def count_of(n: int, noun: str) -> str:
    """Return a count with its noun: `1 item`, `2 items`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def agree(phrase: str, n: int) -> str:
    """Return a plural noun phrase, made singular if `n` is 1 (`rows outside groups` -> `row outside groups`).

    Only the first plural noun changes.
    """
    plural = next((word for word in WORD.finditer(phrase) if make_singular(word[0]) != word[0]), None)
    if n != 1 or plural is None:
        return phrase
    return f"{phrase[: plural.start()]}{make_singular(plural[0])}{phrase[plural.end() :]}"
