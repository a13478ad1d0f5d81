"""Extract the noun for the answers from the text of an imported list question."""

from __future__ import annotations

import re

from tasks.english import make_plural, make_singular

ASKED = re.compile(r"\b(?:what|which)(?P<copula>'s| is| are| was| were)?\b", re.IGNORECASE)
PERSON = re.compile(r"\b(?:who|whom)\b", re.IGNORECASE)
OTHER = re.compile(r"\s*(?:who|whom|whose|where|how|when)\b", re.IGNORECASE)
PLACE = re.compile(r"\bwhere\b", re.IGNORECASE)
LISTED = re.compile(r"^(?:name|list|cite|give)\b", re.IGNORECASE)
LEAD = frozenset([
    "the", "a", "an", "some", "all", "any", "of", "one", "its", "existing", "existring", "known",
    "notable", "different", "discovered", "major", "famous", "current", "currently", "other", "various",
    "several", "main", "specific",
])  # fmt: skip
"""Words before a noun that are not part of the extracted noun phrase."""
CONTAINERS = frozenset([
    "name", "names", "kind", "kinds", "type", "types", "example", "examples", "title", "titles", "list",
    "lists", "piece", "pieces", "sort", "sorts", "form", "forms", "feature", "features", "model",
    "models", "member", "members", "work", "works", "body", "bodies",
])  # fmt: skip
"""Nouns that are replaced by the noun after `of`, as in `kinds of fish`."""
WHOLE = frozenset([
    "piece", "pieces", "work", "works", "form", "forms", "model", "models", "feature", "features",
    "member", "members", "body", "bodies",
])  # fmt: skip
"""Nouns of `CONTAINERS` that are kept in the noun phrase, as in `works of art`."""
STOP_WORDS = frozenset([
    "is", "are", "was", "were", "did", "does", "do", "has", "have", "had", "that", "which", "who",
    "whom", "whose", "where", "when", "in", "on", "at", "by", "from", "for", "to", "with", "about",
    "under", "over", "near", "than", "and", "or", "as", "can", "could", "will", "would", "may", "be",
    "been", "located", "found", "released", "made", "directed", "produced", "written", "created",
    "called", "used", "based", "designed", "produced", "featured", "featuring", "the", "a", "an",
    "their", "its", "his", "her", "it", "there", "also", "both", "either", "not", "only", "after",
    "before", "during", "between", "inside", "belong", "belongs", "took", "won", "win", "play", "plays",
    "played", "worked", "took", "take", "takes", "feature", "features", "contain", "include",
    "includes", "contains", "owned", "got", "received", "occurred", "occured", "happened",
    "follows", "calls", "attended",
])  # fmt: skip
"""Words that end a noun phrase, because a clause or a modifier follows."""
WORD = re.compile(r"[^\W\d_][\w'\u2019./&-]*|\d[\w-]*")
VAGUE = frozenset([
    "thing", "things", "something", "someone", "entity", "entities", "item", "items", "individual",
    "name", "names",
])  # fmt: skip
"""Nouns that are too general to use; the name of the answers' class is used instead."""
SAME = frozenset([
    "manga", "anime", "media", "series", "species", "news", "people", "aircraft", "literature", "music",
    "wildlife", "prix", "software",
])  # fmt: skip
"""Nouns whose plural is equal to the singular."""
# Maximum number of words in a noun phrase; all other words are ignored.
MOST_WORDS = 6


def find_noun(question: str, class_noun: str = "") -> str:
    """Return the plural noun for the answers of a list question: `movies`, `people`, `places`.

    class_noun: the plural name of the answers' class, if known; the fallback if the question has no specific
    noun.
    """
    for found in ASKED.finditer(question):
        if OTHER.match(question):
            break  # such as `Who directed the films which ...`, which asks for a person
        behind = question[found.end() :].strip()
        named = found["copula"] and (behind[:1].isupper() or "ing" in behind.split(" ")[0])
        if noun := "" if named else _read_phrase(behind):
            return noun
    listed = LISTED.match(question)
    if listed and (noun := _read_phrase(question[listed.end() :])):
        return noun
    if class_noun:
        return class_noun
    if PERSON.search(question):
        return "people"
    return "places" if PLACE.search(question) else "answers"


def _read_phrase(text: str) -> str:
    """Return the noun phrase at the start of a text, in the plural; empty if there is none."""
    text = re.split(r"[,;:?!()]", text, maxsplit=1)[0]
    words = [word.strip("'\"") for word in text.split()]
    while words and words[0].lower() in LEAD:
        del words[0]
    phrase: list[str] = []
    while words and len(phrase) < MOST_WORDS and not _ends(words[0], phrase):
        phrase.append(words.pop(0))
    if not phrase or (phrase[-1][0].isupper() and words and words[0].endswith("ed")):
        return ""  # as in `what Ann Bell directed film`
    head = phrase[-1].lower()
    if words[:1] == ["of"] and head in CONTAINERS:
        behind = " ".join(words[1:])
        if head not in WHOLE:
            return _read_phrase(behind)
        return " of ".join(filter(None, (_make_many(phrase), _read_singular(behind))))
    return "" if head in VAGUE else _make_many(phrase)


def _read_singular(text: str) -> str:
    """Return the first word of a text, such as the text after `pieces of`; empty if it cannot be a noun."""
    word = text.split(maxsplit=1)[0].strip("?") if text.split() else ""
    return word if WORD.fullmatch(word) and word.lower() not in STOP_WORDS else ""


def _ends(word: str, phrase: list[str]) -> bool:
    """Return whether a word ends the noun phrase before it."""
    low = word.lower()
    if not phrase and low in ("written", "designed", "featured"):
        return False  # as in `what written work`
    if low in STOP_WORDS or low == "of" or not WORD.fullmatch(word):
        return True
    named = word[0].isupper() and bool(phrase) and phrase[-1][0].islower()
    return bool(phrase) and (named or low.endswith(("ed", "ly")))


def _make_many(phrase: list[str]) -> str:
    *lead, word = phrase
    return " ".join([*lead, word if _is_plural(word) else make_plural(word)])


def _is_plural(word: str) -> bool:
    low = word.lower()
    return (
        low in SAME
        or make_singular(low) != low
        or (low.endswith("s") and not low.endswith(("ss", "us", "is")))
    )
