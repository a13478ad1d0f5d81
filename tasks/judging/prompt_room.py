"""What texts take of a prompt, and data quoted whole where things are left out to fit it."""

from __future__ import annotations

from tasks.judging.quoting import quote

UNLIMITED = 10**7
"""Quoting truncates long texts in their middle; here whole things are left out before."""


def estimate_tokens(text: str) -> float:
    """Estimate a text's tokens: a quarter for a letter or blank, a half for a sign, one for a digit.

    Characters beyond ASCII count as one. Tables are mostly digits and signs: as a quarter of its characters
    their size would come out at half of what small models' tokenizers make of it.
    """
    return sum(map(_weigh, text))


def _weigh(character: str) -> float:
    if not character.isascii() or character.isdigit():
        return 1
    return 0.25 if character.isalpha() or character.isspace() else 0.5


def quote_data(text: str) -> str:
    """Quote data in a prompt, whatever its length: cells are anyone's text."""
    return quote(text, limit=UNLIMITED).text
