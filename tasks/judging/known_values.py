"""Decide by rules whether a response states the expected name, given the values of the answer's column.

At each position of a text, only the longest value counts, so `New York` does not count as `York`. The rules
call a response wrong only if at least one item of the answer has no trace in the response. A trace is a word
of the answer, even if misspelt, partial, shortened to initials, or replaced by another common name. The judge
decides on responses that no rule decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from tasks.judging.amounts import follows
from tasks.judging.findings import HOLDS, NO_VALUE, OTHER_VALUE, PART, UNDECIDED, RuleFinding
from tasks.judging.words import HEDGING, LINKING, LONGEST, POLAR, TURNING, cut_ending

TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
POSSESSIVE = re.compile(r"['\u2019]s$")
APOSTROPHE = re.compile("['\u2019]")
SENTENCE = re.compile(r"[.!?;\n]\s*\w")
SMALL = frozenset([
    "a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with", "de", "la",
    "le", "der", "van", "von",
])  # fmt: skip
"""Words that do not distinguish a name from other names."""
SAYING = 4
"""Maximum number of content words in a response in which a single word of a name counts as a trace.

Words from the question do not count. In a longer response, the word must also be capitalised or begin with a
digit, unless all words of the name occur.
"""
ALIKE = 0.8
"""Minimum similarity, 0 to 1, at which a word counts as a misspelling of another word."""
ALIASES: Mapping[str, str] = {
    "united states": "us usa america american americans states",
    "united kingdom": "uk gb britain british england english scotland scottish wales welsh",
    "france": "french", "spain": "spanish", "germany": "german deutschland", "netherlands": "holland dutch",
    "denmark": "danish", "switzerland": "swiss", "greece": "greek", "poland": "polish", "ireland": "irish",
    "turkey": "turkish turkiye", "finland": "finnish", "sweden": "swedish", "china": "chinese prc",
    "south korea": "korea korean", "russia": "russian ussr soviet", "soviet union": "ussr russia russian",
    "czech republic": "czechia czech", "myanmar": "burma", "iran": "persia", "ivory coast": "cote",
    "mandarin": "chinese", "persian": "farsi", "farsi": "persian", "dutch": "flemish", "male": "m man men",
    "female": "f woman women", "science fiction": "scifi sci",
}  # fmt: skip
"""Alternative words for each value, separated by spaces. Values and words are in lower case."""


NUMERALS = {
    "ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "one": "1", "two": "2",
    "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip


@dataclass(frozen=True)
class _Token:
    word: str
    """The word in lower case, without accents, apostrophes or a possessive ending."""
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return self.text[:1].isupper() or self.text[:1].isdigit()


@dataclass(frozen=True)
class _Match:
    value: str
    first: int
    end: int
    """The index of the first token after the match; `first` is the index of the match's first token."""


@dataclass(frozen=True)
class KnownColumn:
    """The database column of an answer. kind: the answer's kind. words: the words of the column's name."""

    kind: str
    words: str
    values: tuple[str, ...] = ()

    @cached_property
    def has_names(self) -> bool:
        """Whether a value of the column is a multi-word name.

        Values that are not names, such as `Paused`, may have synonyms.
        """
        return any(
            len(tokens) > 1 and all(token.is_name or token.word in SMALL for token in tokens)
            for tokens in map(split_tokens, self.values)
        )

    @cached_property
    def index(self) -> Index:
        """The values, indexed by their words."""
        return index_values(self.values)


@dataclass(frozen=True)
class Index:
    """An index of values by their words. longest: the largest number of words in a value."""

    values: Mapping[tuple[str, ...], str]
    longest: int


def index_values(values: Iterable[str]) -> Index:
    """Index values by their words; empty values are left out."""
    # Reversed: of several values with the same words, the first value is kept.
    found = {tuple(token.word for token in split_tokens(value)): value for value in reversed([*values])}
    found.pop((), None)
    return Index(found, max(map(len, found), default=0))


def split_tokens(text: str) -> list[_Token]:
    """Split a text into words, each with its position."""
    plain = unicodedata.normalize("NFKC", text)
    return [_Token(fold(found[0]), found[0], *found.span()) for found in TOKEN.finditer(plain)]


def fold(word: str) -> str:
    """Normalise a word: lower case, digits for number words, no accents, apostrophes or possessives."""
    bare = APOSTROPHE.sub("", POSSESSIVE.sub("", word))
    parts = unicodedata.normalize("NFKD", bare)
    plain = "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
    return NUMERALS.get(plain, plain)


def find_value(answer: str, response: str, question: str, column: KnownColumn) -> RuleFinding:
    """Find values of the answer's column in a response, and return the rule that applies.

    - `holds`: the response has the answer directly after words from the question, and no words that could
      change the meaning.
    - `part`: the response has some items of a list, and no trace of the other items.
    - `other value`: the response has another value, and no trace of the answer.
    - `no value`: the response has no value and no trace of the answer. This rule applies only if the column
      or the response contains names, because values that are not names may have synonyms.

    If the question names the answer as one of several choices, a rule decides only if the response names one
    choice. All other words must be filler words or words from the question.
    """
    items = [item.strip() for item in answer.split(";") if item.strip()]
    if len(response) > LONGEST or not items or not column.values or POLAR & {fold(item) for item in items}:
        return UNDECIDED
    text = unicodedata.normalize("NFKC", response)
    tokens, asked = split_tokens(text), split_tokens(question)
    # In another alphabet, even the right name has no letter in common with the answer.
    if any(ord(sign) > 0x24F and sign.isalpha() for sign in fold(f"{text}{answer}")):
        return UNDECIDED
    answers = index_values(items)
    named = {match.value for match in _match(asked, (answers, column.index))}
    incidental = {token.word for token in split_tokens(column.words)}
    if any(item in named and not _words(item) <= incidental for item in items):
        return _find_choice(items, text, tokens, asked, named, column)
    matches = [
        match
        for match in _match(tokens, (answers, column.index))
        if _is_written(match, tokens, asked, items, incidental)
    ]
    held = [item for item in items if any(match.value == item for match in matches)]
    others = [match.value for match in matches if match.value not in items and match.value not in named]
    if len(held) == len(items):
        return (
            RuleFinding(HOLDS, answer) if not others and _states(text, tokens, asked, matches) else UNDECIDED
        )
    covered = {place for match in matches for place in range(match.first, match.end)}
    known = {token.word for token in asked}
    spare = [token for n, token in enumerate(tokens) if n not in covered and token.word not in known]
    for item in items:
        if item not in held and _has_trace(item, spare, known, incidental):
            return UNDECIDED
    if held:
        return RuleFinding(PART, "; ".join(held))
    if others:
        return RuleFinding(OTHER_VALUE, others[0])
    # A capital letter at the start of a response does not mark a name.
    names = column.has_names or any(
        token.is_name and (token.start or token.text[1:].isupper()) for token in spare
    )
    return RuleFinding(NO_VALUE) if names else UNDECIDED


def _find_choice(
    items: Sequence[str],
    text: str,
    tokens: Sequence[_Token],
    asked: Sequence[_Token],
    named: Collection[str],
    column: KnownColumn,
) -> RuleFinding:
    """Return the finding for a question that names choices; undecided unless the response has one choice."""
    matches = _match(tokens, (index_values(items), column.index))
    chosen = {match.value for match in matches}
    covered = {place for match in matches for place in range(match.first, match.end)}
    known = {token.word for token in asked} | LINKING
    if (
        len(items) > 1
        or len(named) < 2
        or len(chosen) != 1
        or not chosen <= {*named}
        or TURNING.search(text.casefold())
    ):
        return UNDECIDED
    if any(place not in covered and token.word not in known for place, token in enumerate(tokens)):
        return UNDECIDED
    (value,) = chosen
    return RuleFinding(HOLDS if value == items[0] else OTHER_VALUE, value)


def _words(text: str) -> set[str]:
    return {token.word for token in split_tokens(text)}


def _match(tokens: Sequence[_Token], indexes: Sequence[Index]) -> list[_Match]:
    """Match values in a text from left to right, the longest value at each position."""
    words = [token.word for token in tokens]
    longest = max(index.longest for index in indexes)
    matches: list[_Match] = []
    place = 0
    while place < len(words):
        for end in range(min(len(words), place + longest), place, -1):
            part = tuple(words[place:end])
            value = next((index.values[part] for index in indexes if part in index.values), None)
            if value is not None:
                matches.append(_Match(value, place, end))
                place = end
                break
        else:
            place += 1
    return matches


def _is_written(
    match: _Match,
    tokens: Sequence[_Token],
    asked: Sequence[_Token],
    items: Collection[str],
    incidental: Collection[str],
) -> bool:
    """Return whether a match is a value, rather than a common word or the end of a longer name.

    A one-word value must have the same capitalisation as in the database. The answer may have any
    capitalisation, unless it is also a word of its column's name, such as `City` in a column of cities.
    """
    if match.end - match.first > 1:
        return True
    token = tokens[match.first]
    if len(tokens) > 1 and token.word in LINKING and match.value not in items:
        return False
    if match.value in items and token.word not in incidental:
        return True
    if len(tokens) > 1 and token.text != split_tokens(match.value)[0].text:
        return False
    before = tokens[match.first - 1] if match.first else None
    return not (
        before is not None
        and before.is_name
        and before.word not in {other.word for other in asked}
        and token.start - before.end == 1
        and match.first > 1
    )


def _states(text: str, tokens: Sequence[_Token], asked: Sequence[_Token], matches: Sequence[_Match]) -> bool:
    """Return whether a text states its values directly after words from the question, without a negation."""
    bare, last = [], 0
    for match in matches:
        bare.append(text[last : tokens[match.first].start])
        last = tokens[match.end - 1].end
    bare.append(text[last:])
    rest = " ".join(bare).casefold()
    if TURNING.search(rest) or HEDGING.search(rest) or SENTENCE.search(rest) or "?" in rest:
        return False
    words = {cut_ending(token.text.casefold()) for token in asked} - {*LINKING}
    covered = {place for match in matches for place in range(match.first, match.end)}
    for place, token in enumerate(tokens):
        known = (
            place in covered or token.text.casefold() in LINKING or cut_ending(token.text.casefold()) in words
        )
        if not known and (not token.is_name or place > matches[0].first or len(matches) > 1):
            return False
    return any(
        follows(text[: tokens[match.first].start], words)
        and not (match.first and tokens[match.first - 1].is_name and _touches(tokens, match, words))
        for match in matches[:1]
    )


def _touches(tokens: Sequence[_Token], match: _Match, words: set[str]) -> bool:
    before = tokens[match.first - 1]
    return tokens[match.first].start - before.end == 1 and cut_ending(before.text.casefold()) not in words


def _has_trace(item: str, spare: Sequence[_Token], known: set[str], incidental: Collection[str]) -> bool:
    """Return whether response words that are not in the question could refer to an item of the answer."""
    tokens = split_tokens(item)
    words = [token.word for token in tokens if token.word not in SMALL] or [token.word for token in tokens]
    telling = [word for word in words if word not in known]
    if not telling:
        return not set(words) <= set(incidental)
    said = [token.word for token in spare]
    joined, whole = "".join(said), "".join(token.word for token in tokens)
    # A response may join or split the words of a name: `turbofan` for `Turbo-fan`.
    if len(whole) > 3 and whole in joined:
        return True
    if _is_shortened(tokens, said) or {*ALIASES.get(" ".join(t.word for t in tokens), "").split()} & set(
        said
    ):
        return True
    content = [token for token in spare if token.text.casefold() not in LINKING]
    traced = {word: [token for token in content if _is_alike(word, token.word)] for word in telling}
    if all(traced.values()):
        return True
    hits = [token for found in traced.values() for token in found]
    return bool(hits) and (len(content) <= SAYING or any(token.is_name for token in hits))


def _is_alike(word: str, said: str) -> bool:
    """Return whether two words could be the same, despite different endings, abbreviation or misspelling."""
    if word == said:
        return True
    short = min(len(word), len(said))
    if len(word) <= 3 or len(said) <= 3:
        return said.startswith(word) or (len(said) > 1 and word.startswith(said))
    shared = next((n for n in range(short) if word[n] != said[n]), short)
    return shared >= max(4, 0.6 * short) or SequenceMatcher(None, word, said).ratio() >= ALIKE


def _is_shortened(tokens: Sequence[_Token], said: Sequence[str]) -> bool:
    """Return whether `said` contains the initials of a name, or the initials of `said` contain the name."""
    initials = {
        "".join(token.word[0] for token in tokens),
        "".join(token.word[0] for token in tokens if token.word not in SMALL),
    }
    letters = "".join(word[0] if len(word) == 1 else " " for word in said)
    if len(tokens) > 1 and any(len(short) > 1 and (short in said or short in letters) for short in initials):
        return True
    code = tokens[0].word
    return len(tokens) == 1 and 1 < len(code) <= 5 and code in "".join(word[0] for word in said)
