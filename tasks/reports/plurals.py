"""Put the noun phrases of pages into the number of their items."""

from __future__ import annotations

import re

PLURAL = re.compile(r"\b(?!series\b|species\b|news\b)(\w*[a-z])(?<!s)(?<!u)(?<!i)s\b")
"""Matches a plural noun; words that end in -ss, -us or -is are singular."""


def agree(phrase: str, n: int) -> str:
    """Return a plural noun phrase in the number of `n`: `rows outside groups` is `row outside groups` for 1.

    Only the first plural noun changes.
    """
    return PLURAL.sub(_make_singular, phrase, count=1) if n == 1 else phrase


def _make_singular(plural: re.Match[str]) -> str:
    stem = plural[1]
    if stem.endswith("ie"):
        return f"{stem[:-2]}y"
    return stem[:-1] if stem.endswith(("xe", "che", "she", "sse")) else stem
