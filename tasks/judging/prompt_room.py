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
    """Estimate the number of tokens in a text.

    An ASCII letter or whitespace character counts as a quarter token, and a digit or non-ASCII character as
    one token. Any other character counts as half a token. Tables are mostly digits and symbols. For tables,
    small models use twice as many tokens as an estimate of a quarter token per character.
    """
    plain = text.encode("ascii", "ignore")
    quarters = len(plain) - len(plain.translate(None, QUARTERS))
    ones = len(text) - len(plain.translate(None, ONES))
    return ones + 0.25 * quarters + 0.5 * (len(text) - ones - quarters)


def quote_data(text: str) -> str:
    """Quote untrusted data for a prompt, without a length limit."""
    return quote(text, limit=UNLIMITED).text
