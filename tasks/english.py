"""Look up and inflect English words with pyspellchecker's word list (160,000 forms, MIT licence)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from spellchecker import SpellChecker

FURTHER = frozenset([
    "arthouse", "biopic", "blockbuster", "cinematographer", "decarbonisation", "dollars", "euro", "euros",
    "headcount", "km", "metacritic", "mph", "noir", "offline", "online", "runtime", "screenwriter",
    "sci-fi", "subgenre", "tomatometer", "usd", "webpage", "website",
])  # fmt: skip
"""English words that are missing from pyspellchecker's list."""
SHORT = frozenset([
    "a", "i", "am", "an", "as", "at", "be", "by", "do", "go", "he", "if", "in", "is", "it", "me", "my", "no",
    "of", "ok", "on", "or", "so", "to", "up", "us", "we",
])  # fmt: skip
"""Accepted words of one or two letters; pyspellchecker's list also contains initials and single letters."""

SINGULARS = {"people": "person", "children": "child", "men": "man", "women": "woman", "series": "series",
             "news": "news", "species": "species", "movies": "movie"}  # fmt: skip


AS_CONSONANT = re.compile(r"(uni(?!n|m)|us[eau]|eu|one|once|u[rt][aeiou])", re.IGNORECASE)
AS_VOWEL = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)


def choose_article(words: str) -> str:
    """Return the article `a` or `an` for a phrase, according to the pronunciation of its first word."""
    vowel = words[:1].lower() in tuple("aeiou") and not AS_CONSONANT.match(words)
    return "an" if vowel or AS_VOWEL.match(words) else "a"


def make_singular(word: str) -> str:
    """Return the singular of an English noun, by rules that suffice for table names."""
    if word in SINGULARS:
        return SINGULARS[word]
    # In a word of four letters, the e belongs to the singular: ties -> tie.
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def make_plural(words: str) -> str:
    """Return the plural of an English noun phrase, by rules for table names: film genre -> film genres."""
    *lead, word = words.split()
    known = {singular: plural for plural, singular in SINGULARS.items()}
    if word in known:
        plural = known[word]
    elif word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        plural = f"{word[:-1]}ies"
    elif word.endswith(("s", "x", "ch", "sh")):
        plural = f"{word}es"
    else:
        plural = f"{word}s"
    return " ".join([*lead, plural])


def is_word(text: str) -> bool:
    """Return whether a string is an English word, ignoring case.

    In a hyphenated string, all parts must be words.
    """
    word = text.casefold().replace("\u2019", "'")
    if word in FURTHER or word in SHORT:
        return True
    if "-" in word:
        return all(is_word(part) for part in word.split("-"))
    word = re.sub(r"'s?$", "", word)
    return len(word) > 2 and word in _read_words()


def is_common(text: str, least: int) -> bool:
    """Return whether a word occurs at least `least` times in the corpus behind the word list.

    The corpus has 1.6 billion words. Words of one or two letters count only if they are in SHORT, since the
    list may also contain abbreviations: `dob` occurs 105 times in the corpus.
    """
    return text.casefold() in SHORT or _read_words().get(text.casefold(), 0) >= least


@cache
def _read_words() -> Mapping[str, int]:
    return dict(SpellChecker("en", distance=1).word_frequency.dictionary)
