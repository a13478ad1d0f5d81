"""Estimate how many tokens texts add to a prompt, and quote data of any length."""

from __future__ import annotations

import string

from tasks.judging.quoting import quote

# `str.isspace` is true for \x1c to \x1f, but `string.whitespace` does not contain these characters.
QUARTERS = (string.ascii_letters + string.whitespace + "\x1c\x1d\x1e\x1f").encode()
ONES = string.digits.encode()
UNLIMITED = 10**7
"""A character limit that is never reached, because callers omit whole entries instead of truncating."""


def estimate_tokens(text: str) -> float:
    """Estimate a text's tokens: a quarter per letter or space, a half per other character, and one per digit.

    Each non-ASCII character counts as one token. Tables consist mostly of digits and symbols. An estimate of
    a quarter token per character would be half of what small models use for tables.
    """
    plain = text.encode("ascii", "ignore")
    quarters = len(plain) - len(plain.translate(None, QUARTERS))
    ones = len(text) - len(plain.translate(None, ONES))
    return ones + 0.25 * quarters + 0.5 * (len(text) - ones - quarters)


def quote_data(text: str) -> str:
    """Quote data of any length for a prompt, because cells contain untrusted text."""
    return quote(text, limit=UNLIMITED).text
