"""Estimate how many tokens texts add to a prompt, and drop whole entries of data that do not fit."""

from __future__ import annotations

import string

from tasks.judging.quoting import quote

QUARTERS = (string.ascii_letters + string.whitespace + "\x1c\x1d\x1e\x1f").encode()
ONES = string.digits.encode()
UNLIMITED = 10**7
"""Quoting truncates long texts in their middle; here whole things are left out before."""


def estimate_tokens(text: str) -> float:
    """Estimate a text's tokens: a quarter for a letter or blank, a half for a sign, one for a digit.

    Characters beyond ASCII count as one. Tables are mostly digits and signs: as a quarter of its characters
    their size would come out at half of what small models' tokenizers make of it.
    """
    plain = text.encode("ascii", "ignore")
    quarters = len(plain) - len(plain.translate(None, QUARTERS))
    ones = len(text) - len(plain.translate(None, ONES))
    return ones + 0.25 * quarters + 0.5 * (len(text) - ones - quarters)


def quote_data(text: str) -> str:
    """Quote data in a prompt, whatever its length: cells are anyone's text."""
    return quote(text, limit=UNLIMITED).text
