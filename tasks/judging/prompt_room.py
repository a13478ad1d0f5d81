"""Estimate how many tokens texts add to a prompt, and quote data without a limit on its length."""

from __future__ import annotations

import string

from tasks.judging.quoting import quote

QUARTERS = (string.ascii_letters + string.whitespace + "\x1c\x1d\x1e\x1f").encode()
ONES = string.digits.encode()
UNLIMITED = 10**7
"""A limit that is never reached: callers leave out whole entries, so that quoting must not truncate."""


def estimate_tokens(text: str) -> float:
    """Estimate a text's tokens: a quarter per letter or space, a half per other sign, and one per digit.

    Characters beyond ASCII count as one. Tables consist mostly of digits and signs: a quarter per character
    would give half the number of tokens that small models' tokenizers use.
    """
    plain = text.encode("ascii", "ignore")
    quarters = len(plain) - len(plain.translate(None, QUARTERS))
    ones = len(text) - len(plain.translate(None, ONES))
    return ones + 0.25 * quarters + 0.5 * (len(text) - ones - quarters)


def quote_data(text: str) -> str:
    """Quote data in a prompt, whatever its length, because cells contain untrusted text."""
    return quote(text, limit=UNLIMITED).text
