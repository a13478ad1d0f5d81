"""Check documents' sentences for unknown words, contradictions with the database, and unsupported claims.

A rule returns a sentence's problem as `<reason>: <detail>`, or "" if there is none. Sentences may contain the
names and values of their `KnownFacts`. Names and values are masked before the words are checked, because a
title may contain any words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise

from tasks.english import is_word
from tasks.grammar.corpus.entities import COLLECTION, ProfileFact
from tasks.grammar.corpus.machine_reading import list_forms
from tasks.grammar.corpus.vocabulary import NEUTRAL, STOP_WORDS, UNIT_NAMES, split_unit, stem

MASK = "\0"
"""The character that replaces a known text in a sentence."""
WORDS = (4, 90)
"""The minimum and maximum number of words in a sentence. The maximum is high because lists can be long."""
FEW = 200
"""Columns with at most this many distinct values, such as genres, are searched case-insensitively. Columns
with more values, such as people, are searched case-sensitively."""
LOOSE = frozenset(["date", "year", "number", "count", "name", "of", "the", "in", "value"])
"""Words that do not distinguish attributes: `start` is enough to name `start date`."""
CLAIMS = frozenset([
    # praise and superlatives
    "acclaimed", "amazing", "award-winning", "beautiful", "beloved", "best", "brilliant", "celebrated",
    "classic", "critically", "distinguished", "epic", "esteemed", "excellent", "exceptional", "exciting",
    "expert", "famous", "fascinating", "finest", "foremost", "great", "greatest", "groundbreaking",
    "highest", "highly", "iconic", "important", "impressive", "influential", "innovative", "largest",
    "leading", "legendary", "lowest", "masterpiece", "memorable", "most", "notable", "notably", "outstanding",
    "popular", "powerful", "prestigious", "prominent", "remarkable", "renowned", "respected", "significant",
    "skilled", "stunning", "successful", "talented", "top", "unique", "vibrant", "well-known", "worst",
    # causes and meanings
    "because", "consequently", "ensure", "ensures", "ensuring", "hence", "implies", "indicates",
    "indicating", "means", "meaning", "reflects", "reflecting", "shows", "showing", "signifies", "suggests",
    "suggesting", "therefore", "thus",
])  # fmt: skip
"""Words that praise or explain; no column of a database can support praise or explanations."""
CLAIM_PHRASES = ("due to", "in order to", "known for", "as a result", "so that", "one of the")
"""Phrases that explain or praise."""
Rule = Callable[["Masked"], str]
LETTER = re.compile(r"[^\W\d]")
TOKEN = re.compile(rf"{MASK}|\w+")


class KnownValues:
    """The text values of a database's columns, used to find values of other entities in a sentence.

    `columns` contains all values of attributes, by the attribute's displayed name.
    """

    def __init__(self, columns: Mapping[str, Iterable[str]]) -> None:
        self._exact = {
            attribute: {text for value in values if LETTER.search(value) and (text := _words(value))}
            for attribute, values in columns.items()
        }
        self._folded = {
            attribute: {text.casefold() for text in texts if len(text) > 2}
            for attribute, texts in self._exact.items()
            if len(texts) <= FEW
        }
        self._all: set[str] = set().union(*self._exact.values(), *self._folded.values())
        self._longest = max((text.count(" ") + 1 for text in self._all), default=0)

    def find(self, text: str) -> Iterator[tuple[str, set[str]]]:
        """Yield (value, attributes with this value) for every known value in a text."""
        tokens = text.split()
        for at in range(len(tokens)):
            for count in range(1, min(self._longest, len(tokens) - at) + 1):
                phrase = " ".join(tokens[at : at + count])
                # The first word of a sentence is always capitalised, so the capital does not indicate a name.
                capital = phrase[0].isupper() and (at > 0 or count > 1)
                found = _list_having(phrase, self._exact) if capital and phrase in self._all else set()
                if (folded := phrase.casefold()) in self._all:
                    found |= _list_having(folded, self._folded)
                if found:
                    yield phrase, found


def _list_having(text: str, columns: Mapping[str, set[str]]) -> set[str]:
    return {attribute for attribute, texts in columns.items() if text in texts}


NOTHING_KNOWN = KnownValues({})


@dataclass(frozen=True)
class KnownFacts:
    """The facts that the sentences about an entity are compared with.

    `kind` is the noun for the kind of entity. `names` contains the entity's name and other texts that
    sentences may contain, such as titles. `known` contains the database's values. A sentence may contain a
    value of `known` only if the value is also in `facts`, or is a lower-case word with a stem in `own_stems`.
    """

    kind: str
    names: tuple[str, ...]
    facts: tuple[ProfileFact, ...]
    known: KnownValues = field(default=NOTHING_KNOWN, compare=False)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A pattern that matches all known texts that a sentence may contain, the longest first."""
        names = {*self.names, *(fact.subject for fact in self.facts)}
        texts = {*names, *(name[:1].upper() + name[1:] for name in names), *UNIT_NAMES.values()}
        texts |= {form for fact in self.facts for value in fact.values for form in list_written(value)}
        forms = sorted((text for text in texts if text.strip()), key=lambda text: (-len(text), text))
        return re.compile("|".join(rf"(?<!\w){re.escape(form)}(?!\w)" for form in forms) or r"(?!)")

    @cached_property
    def own_words(self) -> frozenset[str]:
        """The words, in lower case, in the names of the entity's kind, the attributes and the units."""
        texts = [self.kind, *(fact.attribute for fact in self.facts)]
        return frozenset(word for text in texts for word in re.findall(r"[a-z]+", text.casefold()))

    @cached_property
    def own_names(self) -> frozenset[str]:
        """The capitalised words in names of attributes, such as Academy in `Academy Award count`."""
        texts = [fact.attribute for fact in self.facts if fact.subject != COLLECTION]
        return frozenset(
            word for text in texts for word in re.findall(r"[^\W\d_]+", text) if word[0].isupper()
        )

    @cached_property
    def own_stems(self) -> frozenset[str]:
        """The stems of `own_words`; a sentence may contain each of these stems twice."""
        return frozenset(map(stem, self.own_words))


@dataclass(frozen=True)
class Masked:
    """A sentence, the sentence with its known texts masked (`rest`), and these texts in order (`values`)."""

    sentence: str
    rest: str
    values: tuple[str, ...]
    known_facts: KnownFacts

    @cached_property
    def words(self) -> list[str]:
        """The words of the sentence, with a mask instead of each known text."""
        return re.findall(rf"{MASK}|[^\W\d_]+(?:['\u2019-][^\W\d_]+)*", self.rest)

    @cached_property
    def stems(self) -> set[str]:
        """The stems of the words outside known texts."""
        return {stem(word) for word in self.words}


def mask(sentence: str, known_facts: KnownFacts) -> Masked:
    """Return a sentence with its known texts masked."""
    return Masked(
        sentence,
        known_facts.pattern.sub(MASK, sentence),
        tuple(known_facts.pattern.findall(sentence)),
        known_facts,
    )


def find_fault(sentence: str, known_facts: KnownFacts) -> str:
    """Return the first problem with a sentence as `<reason>: <detail>`, or "" if there is none."""
    masked = mask(sentence, known_facts)
    return next((fault for rule in RULES if (fault := rule(masked))), "")


def split_sentences(text: str, known_facts: KnownFacts) -> list[str]:
    """Split a text into sentences; a full stop within a known text does not end a sentence."""
    inside = [match.span() for match in known_facts.pattern.finditer(text)]
    ends = [
        match.end()
        for match in re.finditer(r"[.!?][\"')]*\s+(?=\S)", text)
        if not any(start < match.start() + 1 < end for start, end in inside)
    ]
    bounds = zip([0, *ends], [*ends, len(text)], strict=True)
    return [part for start, end in bounds if (part := text[start:end].strip())]


def list_written(value: str) -> list[str]:
    """List the spellings of a value: dates with month names, numbers with separators, `no` for 0."""
    forms = [*list_forms(value), *(["no"] if value == "0" else [])]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        forms += [re.sub(r"([A-Z][a-z]+) (\d\w*) (\d{4})", r"\1 \2, \3", form) for form in forms]
    if re.fullmatch(r"\d{4,}(\.\d+)?", value):
        whole, _, part = value.partition(".")
        forms.append(f"{int(whole):,}" + (f".{part}" if part else ""))
    return list(dict.fromkeys(forms))


def names_attribute(masked: Masked, attribute: str) -> bool:
    """Return whether a sentence names an attribute, in any form of the attribute's words."""
    due = list_telling(attribute)
    return bool(due) and due <= masked.stems


@cache
def list_telling(attribute: str) -> frozenset[str]:
    """Return the stems of the words that distinguish an attribute from other attributes."""
    words = split_unit(attribute)[0].casefold().split()
    telling = [word for word in words if word not in LOOSE | STOP_WORDS] or words
    return frozenset(map(stem, telling))


def says_fact(sentence: str, fact: ProfileFact, known_facts: KnownFacts) -> bool:
    """Return whether a sentence contains a fact's attribute and all its values."""
    masked = mask(sentence, known_facts)
    written = set(masked.values)
    return names_attribute(masked, fact.attribute) and all(
        written.intersection(list_written(value)) for value in fact.values
    )


def check_form(masked: Masked) -> str:
    """Expect one plain sentence of valid length, with a final full stop, and without Markdown or brackets."""
    sentence = masked.sentence
    count = len(sentence.split())
    if not WORDS[0] <= count <= WORDS[1]:
        return f"sentence_length: {count} words"
    if not sentence.endswith(".") or re.search(r"[#*_`|~^=\\]", masked.rest) or set("[]{}<>") & set(sentence):
        return "form: expected a sentence without Markdown or brackets that ends with a full stop"
    if re.search(r"[!?,:;]\.$", sentence):
        return "form: ends with two punctuation marks"
    if sentence[0].islower() and masked.rest[0] != MASK:
        return "form: begins with a lower-case letter"
    return ""


def check_numbers(masked: Masked) -> str:
    """Expect no numbers other than the numbers in the facts."""
    found = re.search(r"\w*\d[\w.,:/-]*", masked.rest)
    return f"unknown_number: {found[0]}" if found else ""


def check_other_values(masked: Masked) -> str:
    """Expect no database value that belongs only to other entities, such as another film's genre."""
    own = {_words(value).casefold() for fact in masked.known_facts.facts for value in fact.values}
    for value, attributes in masked.known_facts.known.find(_words(masked.rest)):
        folded = value.casefold()
        ordinary = " " not in value and value[0].islower() and stem(folded) in masked.known_facts.own_stems
        if folded not in own and not ordinary:
            return f"other_value: {value} is the {min(attributes)} of another entity"
    return ""


def check_names(masked: Masked) -> str:
    """Expect no capitalised words after the first word, except in known texts and names of attributes."""
    names = masked.known_facts.own_names
    own = names | {f"{name}s" for name in names} | {name.removesuffix("s") for name in names}
    start = not masked.rest.startswith(MASK)
    for number, word in enumerate(masked.words):
        if word != MASK and word[0].isupper() and word not in own and (number or not start):
            return f"unknown_name: {word}"
    return ""


def check_words(masked: Masked) -> str:
    """Expect only English words, and words from the facts."""
    for word in masked.words:
        plain = word.casefold()
        if word != MASK and plain not in masked.known_facts.own_words and not is_word(plain):
            return f"no_word: {word}"
    return ""


def check_repeats(masked: Masked) -> str:
    """Expect no repeated stems, except stems of stop words; stems in `own_stems` may occur twice.

    A word must not occur twice in a row, and a pair of adjacent known texts must not occur twice.
    """
    words = [word.casefold() for word in masked.words]
    for earlier, two in pairwise(words):
        if earlier == two != MASK:
            return f"repeats: {earlier} {two}"
    content = [stem(word) for word in words if word != MASK and word not in STOP_WORDS]
    for found, count in Counter(content).items():
        if count > (2 if found in masked.known_facts.own_stems else 1):
            return f"repeats: {found} occurs {count} times"
    pairs = Counter(zip(masked.values, masked.values[1:], strict=False))
    if pairs and max(pairs.values()) > 1:
        return "repeats: the same values occur twice"
    return ""


def check_claims(masked: Masked) -> str:
    """Expect only words from the facts, neutral words and stop words, without praise or explanations."""
    text = f" {' '.join(word.casefold() for word in masked.words)} "
    own = masked.known_facts.own_words
    for claim in (*CLAIM_PHRASES, *sorted(CLAIMS - own)):
        if f" {claim} " in text:
            return f"claim: {claim}"
    for word in masked.words:
        plain = word.casefold()
        if word == MASK or plain in STOP_WORDS or plain in own:
            continue
        if not {stem(part) for part in plain.split("-")} <= masked.known_facts.own_stems | NEUTRAL:
            return f"beyond_facts: {word}"
    return ""


def check_attributes(masked: Masked) -> str:
    """Expect a value for every attribute that the sentence names, in the same order as the attributes."""
    about = _list_facts_told(masked)
    written = set(masked.values)
    told = [fact for fact in about if names_attribute(masked, fact.attribute) and _holds(fact, written)]
    groups: defaultdict[frozenset[str], list[ProfileFact]] = defaultdict(list)
    for fact in about:
        groups[list_telling(fact.attribute)].append(fact)
    for telling, group in groups.items():
        if any(telling < _list_stems(fact.attribute) for fact in told):
            continue  # the sentence names this attribute only as a part of another attribute, stated in full
        if telling <= masked.stems and not any(_holds(fact, written) for fact in group):
            return f"contradicts: names {group[0].attribute} without {', '.join(group[0].values)}"
    return _check_order(masked, about)


@cache
def _list_stems(attribute: str) -> frozenset[str]:
    return frozenset(map(stem, attribute.split()))


def _list_facts_told(masked: Masked) -> Sequence[ProfileFact]:
    """List the facts about the entities that a sentence names, or all facts if it names no entity."""
    facts = masked.known_facts.facts
    named = {fact.subject for fact in facts if fact.subject in masked.values}
    return [fact for fact in facts if fact.subject in named] if named else facts


def _holds(fact: ProfileFact, written: set[str]) -> bool:
    return any(written.intersection(list_written(value)) for value in fact.values)


def _check_order(masked: Masked, about: Sequence[ProfileFact]) -> str:
    """Return the problem if the values of two facts (director, manager) are swapped, otherwise ""."""
    places: dict[str, int] = {}
    for place, word in enumerate(masked.words):
        places.setdefault(stem(word), place)
    told = []
    for fact in about:
        telling = list_telling(fact.attribute)
        values = {form for value in fact.values for form in list_written(value)}
        at = [number for number, value in enumerate(masked.values) if value in values]
        if at and telling <= masked.stems:
            told.append((min(places[part] for part in telling), frozenset(at), fact))
    told.sort(key=lambda pair: pair[0])
    for (place, here, fact), (next_place, there, other) in pairwise(told):
        if place != next_place and not here & there and min(there) < min(here):
            return f"contradicts: the values of {fact.attribute} and {other.attribute} are swapped"
    return ""


def _words(text: str) -> str:
    return " ".join(TOKEN.findall(text))


RULES: tuple[Rule, ...] = (
    check_form,
    check_numbers,
    check_other_values,
    check_names,
    check_words,
    check_repeats,
    check_attributes,
    check_claims,
)
