"""Define word lists for the rules: filler words, negations and contrasts, and hedges."""

from __future__ import annotations

import re

LONGEST = 1_500
"""Maximum number of characters in a response that rules may judge; a judge decides on longer responses."""
LINKING = frozenset([
    "a", "according", "also", "an", "and", "are", "as", "at", "being", "by", "called", "did", "do", "does",
    "for", "from", "had", "has", "have", "in", "is", "it", "its", "listed", "located", "made", "named", "of",
    "on", "that", "the", "there", "these", "they", "this", "those", "to", "under", "was", "were", "which",
    "who", "with", "yes",
])  # fmt: skip
"""Filler words, which neither answer a question nor deny an answer."""
TURNING = re.compile(
    r"\b(?:not?|none|never|neither|nor|or|but|except|without|unlike|than|instead|rather|unless|if|wrong|false"
    r"|incorrect|untrue|contrary|\w+n['\u2019]t)\b"
)
"""Matches words that negate a statement, contrast it or offer alternatives."""
HEDGING = re.compile(
    r"\b(?:likely|unlikely|probably|perhaps|maybe|possibly|may|might|could|would|should|seems?|appears?|guess"
    r"|believe|think|assume|suppose|suspect|unsure|uncertain|unclear|either|both|ambiguous|possible)\b"
)
"""Matches hedges: words with which a sentence avoids a definite statement."""
RELATIVE = re.compile(r"\b(?:after|before|later|earlier|prior|following|since|until|ago|next|previous)\b")
"""Matches words that relate a date or time to another date or time."""
WORD = re.compile(r"\w+(?:[-'\u2019.,]\w+)*")
ENDING = re.compile(r"e?[sd]?$")
SHORT = 3
"""A word with at most this many letters keeps its ending."""
POLAR = frozenset(["yes", "no", "true", "false", "y", "n", "t", "f"])
"""Yes-or-no answers, which a response may express without using the same word."""


def list_words(text: str) -> set[str]:
    """List the meaningful words of a text in lower case, without their endings."""
    return {cut_ending(word) for word in WORD.findall(text) if word not in LINKING}


def cut_ending(word: str) -> str:
    """Cut the ending of a word, so that `hired` and `hire` both become `hir`; short words are not changed.

    A short word may be a value: `R` must not match `Red`.
    """
    return ENDING.sub("", word) if len(word) > SHORT else word
