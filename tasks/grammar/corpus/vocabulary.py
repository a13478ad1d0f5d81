"""The words that documents may contain besides their facts, and a function that reduces words to stems."""

from __future__ import annotations

import re
from functools import lru_cache

from tasks.grammar.construct.names import UNITS

STOP_WORDS = frozenset([
    "a", "all", "also", "an", "and", "are", "as", "at", "been", "before", "both", "but", "by", "each", "for",
    "from", "had", "has", "have", "he", "her", "his", "in", "into", "is", "it", "its", "may", "more", "no",
    "not", "of", "on", "one", "or", "other", "out", "over", "she", "since", "so", "than", "that", "the",
    "their", "there", "these", "they", "this", "to", "under", "until", "up", "was", "were", "when", "where",
    "which", "while", "who", "whose", "will", "with",
])  # fmt: skip
"""Function words, which a sentence may repeat."""
UNIT_NAMES = {
    "usd": "US dollars", "eur": "euros", "gbp": "pounds sterling", "km": "kilometres", "kg": "kilograms",
    "mph": "miles per hour",
}  # fmt: skip
"""The full names of some units; all other units stay unchanged."""
IN_UNIT = re.compile(rf" in ({'|'.join(sorted({*UNITS, *UNIT_NAMES.values()}))})(?= of |$)")
"""Matches a unit in an attribute's name, abbreviated or in full: in usd, in US dollars."""
IRREGULAR = {
    "began": "start", "begun": "start", "begin": "start", "begins": "start", "written": "write",
    "wrote": "write", "led": "lead", "made": "make", "held": "hold", "finish": "end", "finished": "end",
    "finishes": "end", "ran": "run", "won": "win", "stars": "actor", "starring": "actor",
}  # fmt: skip
"""The base words of irregular forms and synonyms."""
ENDINGS = (
    "ings", "ions", "ers", "ors", "ies", "ing", "ion", "ed", "er", "es", "or", "ly", "e", "s", "y",
)  # fmt: skip
"""The endings that `stem` removes, roughly from the longest to the shortest."""
SHORTEST_STEM = 3
"""The minimum number of letters in a stem."""


def split_unit(attribute: str) -> tuple[str, str]:
    """Return an attribute's name without the unit, and the unit: (`altitude of the airport`, `feet`)."""
    found = IN_UNIT.search(attribute)
    return (attribute[: found.start()] + attribute[found.end() :], found[1]) if found else (attribute, "")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a rough stem, the same for all forms of a word: `direct` for directs, directed and director."""
    word = word.casefold()
    word = IRREGULAR.get(word, word)
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > SHORTEST_STEM and word[-1] == word[-2] else word


NEUTRAL = frozenset(map(stem, [
    "about", "according", "act", "address", "assigned", "based", "be", "bears", "belong", "born",
    "budget", "called", "carried", "collection", "come", "complete", "comprises", "concerns",
    "consists", "cost", "count", "cover", "credited", "currently", "database", "date", "dated", "day",
    "described", "do", "dollars", "done", "duration", "during", "earned", "eight", "end", "entitled",
    "euros", "first", "five", "following", "found", "founded", "four", "given", "going", "held", "here",
    "hired", "include", "including", "involved", "is", "known", "last", "lasted", "length", "list",
    "listed", "located", "long", "made", "member", "month", "name", "named", "namely", "nine", "number",
    "numbered", "offer", "only", "open", "our", "own", "people", "percent", "person", "place",
    "planned", "produced", "receive", "record", "recorded", "registered", "release", "report",
    "respectively", "run", "said", "same", "set", "seven", "situated", "six", "spent", "stand",
    "started", "stated", "take", "team", "tell", "ten", "them", "this", "three", "time", "title",
    "titled", "together", "took", "total", "two", "type", "us", "use", "used", "value", "we", "well",
    "within", "work", "working", "year",
]))  # fmt: skip
"""Stems of words that add no content to a sentence's facts."""
