"""Word lists for the rules: filler words, negations and contrasts, and hedges."""

from __future__ import annotations

import re

LONGEST = 1_500
"""Maximum number of characters: a longer response says much besides its answer, and is left to the judge."""
LINKING = frozenset([
    "a", "according", "also", "an", "and", "are", "as", "at", "being", "by", "called", "did", "do", "does",
    "for", "from", "had", "has", "have", "in", "is", "it", "its", "listed", "located", "made", "named", "of",
    "on", "that", "the", "there", "these", "they", "this", "those", "to", "under", "was", "were", "which",
    "who", "with", "yes",
])  # fmt: skip
"""Words of a sentence that neither answer nor deny anything."""
TURNING = re.compile(
    r"\b(?:not?|none|never|neither|nor|or|but|except|without|unlike|than|instead|rather|unless|if|wrong|false"
    r"|incorrect|untrue|contrary|\w+n['\u2019]t)\b"
)
"""Words by which a sentence may state the opposite, or leave a choice."""
HEDGING = re.compile(
    r"\b(?:likely|unlikely|probably|perhaps|maybe|possibly|may|might|could|would|should|seems?|appears?|guess"
    r"|believe|think|assume|suppose|suspect|unsure|uncertain|unclear|either|both|ambiguous|possible)\b"
)
"""Words by which a sentence does not commit itself."""
RELATIVE = re.compile(r"\b(?:after|before|later|earlier|prior|following|since|until|ago|next|previous)\b")
"""Words that relate a date or a time to another one."""
WORD = re.compile(r"\w+(?:[-'\u2019.,]\w+)*")
ENDING = re.compile(r"e?[sd]?$")
SHORT = 3
"""Maximum length of a word whose ending is not cut, in letters."""
POLAR = frozenset(["yes", "no", "true", "false", "y", "n", "t", "f"])
"""Answers that a response may give without using the same word."""


def list_words(text: str) -> set[str]:
    """List the meaningful words of a text in lower case, without their endings."""
    return {cut_ending(word) for word in WORD.findall(text) if word not in LINKING}


def cut_ending(word: str) -> str:
    """Cut the ending of a word, so that `hired` becomes `hir` like `hire`; short words are not changed.

    A short word may be a value: R is not Red.
    """
    return ENDING.sub("", word) if len(word) > SHORT else word
