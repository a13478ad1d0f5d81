"""Write facts in English, as sentences and predicates.

The wording depends on the kind of attribute and on its values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.databases.rendering import DATE, MOMENT, write_said
from tasks.english import choose_article, make_singular
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.vocabulary import UNIT_NAMES, split_unit

NUMBER = re.compile(r"-?\d+(\.\d+)?")
DATE_VERBS = {
    "release": "was released", "publication": "was published", "start": "starts", "end": "ends",
    "hire": "was hired", "birth": "was born", "founding": "was founded", "opening": "was opened",
}  # fmt: skip
"""The verb for each first word of `<word> date` or `<word> year`."""
DOERS = {
    "director": "directed", "writer": "written", "author": "written", "producer": "produced",
    "composer": "composed", "editor": "edited", "manager": "managed", "publisher": "published",
    "supervisor": "supervised", "manufacturer": "manufactured", "owner": "owned", "head": "headed",
}  # fmt: skip
"""The past participle for each role's action."""
WORKS = frozenset(["album", "article", "book", "episode", "film", "movie", "novel", "play", "series", "song"])
"""Kinds of works, which are described in the past tense."""
FILMED = frozenset(["episode", "film", "movie", "series"])
"""Kinds of works with actors and a country of production."""
OF_WORKS = {
    "genre": "belongs to the {nouns} {value}", "language": "is in {value}",
    "country": "comes from {value}", "company": "was made by the {nouns} {value}",
}  # fmt: skip
"""The predicates for attributes of works."""
OF_FILMS = {
    **OF_WORKS, "country": "was made in {value}", "actor": "stars {value}", "runtime": "runs for {value}",
}  # fmt: skip
"""The predicates for attributes of films and series."""
COUNTED = {
    "genre": "of the genre {value}", "language": "in {value}", "country": "from {value}",
    "company": "made by the company {value}", "release year": "released in {value}",
    "actor": "starring {value}",
    **{noun: f"{done} by {{value}}" for noun, done in DOERS.items()},
}  # fmt: skip
"""The phrases for works that share a value, such as `films from France`."""
OF_ANY = {
    "city": "is in the {nouns} {value}", "client": "is done for the {nouns} {value}",
    "department": "belongs to the {nouns} {value}", "industry": "works in the {nouns} {value}",
}  # fmt: skip
"""The predicates for attributes of all other entities."""
RATINGS = frozenset(["age rating", "content rating", "rating"])
AWARDS = frozenset(["award", "medal", "prize"])
"""The last words, in the singular, of attributes that take the verb `received` instead of `has`."""
CLOCK = re.compile(r"\d\d?:\d\d(:\d\d)?")
SHORT = 3
"""A value with at most this many characters, such as R or PG, must not begin a sentence."""
MEASURES = frozenset([
    "age", "altitude", "budget", "capacity", "count", "distance", "height", "length", "population", "price",
    "rate", "rating", "score", "speed", "total", "weight",
])  # fmt: skip
"""The last words of attributes that need `of` before a number, as in `a score of 81`."""
COUNT = " count"
NONE = "0"
"""The value of a count if there is nothing to count."""
PARTICIPLES = frozenset(["held", "lost", "made", "sold", "won"])
COLLECTIVES = frozenset(["cast", "crew", "staff", "team"])
"""Nouns for groups of people; the values of such an attribute are the group's members."""
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""The numbers 0 to 10 as words."""
WITH_ARTICLE = re.compile(
    r"(United|Soviet|Czech Republic|Dominican Republic|Netherlands|Philippines|Bahamas|Maldives|Gambia)\b"
    r"|.* (Republic|Kingdom|Union|States|Emirates|Islands)$"
)
"""Matches the names of countries that take the article `the`."""


def list_sentences(subject: str, fact: ProfileFact, kind: str = "") -> list[str]:
    """List sentences that state a subject's fact, such as `The runtime of the film Locke is 85 minutes`.

    The last sentence is the plainest; it is used if all other sentences break a rule.
    """
    noun, _ = split_unit(fact.attribute)
    value, several = write_values(fact), len(fact.values) > 1
    nouns, are = (make_plural(noun), "are") if several else (noun, "is")
    if noun in COLLECTIVES:
        found = [f"the {noun} of {subject} includes {value}", f"{value} belong to the {noun} of {subject}"]
        return [_finish(text) for text in (found if several else found[:1])]
    if counted := _name_count(noun, fact):
        if value == "no":
            return [_finish(f"{subject} {predicate}") for predicate in list_predicates(fact, kind)]
        by_of = "by" if _ends_in_participle(noun) else "of"
        found = [f"the number of {counted} {by_of} {subject} is {value}"]
    else:
        found = [f"the {nouns} of {subject} {are} {value}"]
        if len(value) > SHORT and not is_number(fact) and not is_time(fact):
            found.append(f"{value} {are} the {nouns} of {subject}")
    if several and len(fact.values) < len(COUNTS):
        found.append(f"{subject} has {COUNTS[len(fact.values)]} {nouns}: {value}")
    found += [f"{subject} {predicate}" for predicate in list_predicates(fact, kind)]
    plainest = f"for {subject}, the {nouns} {are} {value}"
    return [_finish(text) for text in (*found, plainest)]


def list_predicates(fact: ProfileFact, kind: str = "") -> list[str]:
    """List the predicates that state a fact, such as `has a runtime of 85 minutes`."""
    noun, unit = split_unit(fact.attribute)
    value, several = write_values(fact), len(fact.values) > 1
    nouns = make_plural(noun) if several else noun
    if is_time(fact) and not several and (verb := DATE_VERBS.get(noun.split()[0])):
        return [f"{verb} {'in' if noun.endswith('year') else 'on'} {value}"]
    if noun in DOERS:
        return [f"{'was' if kind in WORKS else 'is'} {DOERS[noun]} by {value}"]
    of_kind = OF_FILMS if kind in FILMED else OF_WORKS if kind in WORKS else {}
    if pattern := of_kind.get("company" if noun.endswith(" company") else noun):
        return [pattern.format(nouns=nouns, value=value)]
    if noun in RATINGS and not is_number(fact):
        return [f"is rated {value}"]
    if noun == "box office" and unit:
        return [f"earned {value} at the {noun}"]
    if noun in OF_ANY:
        return [OF_ANY[noun].format(nouns=nouns, value=value)]
    if noun in COLLECTIVES:
        return [f"has a {noun} that includes {value}"]
    if counted := _name_count(noun, fact):
        counted = make_singular_last(counted) if value == "1" else counted
        if _ends_in_participle(noun):
            *things, done = counted.split()
            return [f"{done} {value} {' '.join(things)}"] if done in PARTICIPLES else []
        verb = "received" if make_singular(counted.split()[-1].casefold()) in AWARDS else "has"
        of_count = [f"has {choose_article(noun)} {noun} of {value}"] if noun.endswith(COUNT) else []
        return [f"{verb} {value} {counted}", *(of_count if value != "no" else [])]
    if unit or (noun.split()[-1] in MEASURES and is_number(fact)) or is_clock(fact):
        return [f"has {choose_article(noun)} {noun} of {value}"]
    return [f"has the {nouns} {value}"]


def name_counted(attribute: str, kind: str) -> str:
    """Return what a fact about the database counts, such as `films of the genre War`.

    In this example, `attribute` is `number of films with the genre War`.
    """
    things, _, shared = attribute.removeprefix("number of ").partition(" with the ")
    if kind in WORKS:
        for noun, words in COUNTED.items():
            if shared.startswith(f"{noun} "):
                value = _write_value(shared.removeprefix(f"{noun} "), noun == "country", year=True)
                return f"{things} {words.format(value=value)}"
    return attribute.removeprefix("number of ")


def write_values(fact: ProfileFact) -> str:
    """Return a fact's values in readable form: dates with month names, numbers with separators, units."""
    _, unit = split_unit(fact.attribute)
    country = fact.attribute.split()[-1] == "country"
    year = fact.attribute.endswith("year")
    if name_none(fact):
        return "no"
    texts = [_write_value(value, country, year, fact.kind) for value in fact.values]
    return f"{join(texts)} {UNIT_NAMES.get(unit, unit)}".strip()


def name_none(fact: ProfileFact) -> str:
    """Return the phrase for a count of 0, such as `no engines`, or "" for any other fact."""
    counted = _name_count(split_unit(fact.attribute)[0], fact) if fact.values == (NONE,) else ""
    *things, last = counted.partition(" of the ")[0].split() or [""]
    return " ".join(["no", *things, *([] if _ends_in_participle(counted) else [last])]) if counted else ""


def join(texts: Sequence[str]) -> str:
    """Join texts into a list, such as `a, b and c`."""
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + f" and {texts[-1]}"


def is_number(fact: ProfileFact) -> bool:
    """Return whether all values of a fact are numbers."""
    return all(NUMBER.fullmatch(value) for value in fact.values)


def is_time(fact: ProfileFact) -> bool:
    """Return whether the values of a fact are dates or years."""
    return fact.attribute.split()[-1] == "year" or all(
        DATE.fullmatch(value) or MOMENT.fullmatch(value) for value in fact.values
    )


def is_clock(fact: ProfileFact) -> bool:
    """Return whether a fact has a single value that is a time of day."""
    return len(fact.values) == 1 and bool(CLOCK.fullmatch(fact.values[0]))


def make_plural(words: str) -> str:
    """Return the plural of a noun phrase, such as `towns of the clinic`."""
    first, of, rest = words.partition(" of ")
    *before, last = first.split()
    if make_singular(last) == last:
        if re.search(r"[^aeiou]y$", last):
            last = last[:-1] + "ies"
        else:
            last += "es" if re.search(r"(s|x|z|ch|sh)$", last) else "s"
    return " ".join([*before, last]) + of + rest


def make_singular_last(words: str) -> str:
    """Return a phrase with the last word in the singular."""
    *before, last = words.split()
    return " ".join([*before, make_singular(last)])


def capitalise(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[0].upper() + text[1:]


def _write_value(value: str, country: bool, year: bool, kind: str = "") -> str:
    if country and WITH_ARTICLE.match(value):
        return f"the {value}"
    return write_said(value, kind, grouped=not year)


def _name_count(noun: str, fact: ProfileFact) -> str:
    """Return what a fact counts, such as `awards` for `award count`; "" if the fact is not a count."""
    if not is_number(fact) or len(fact.values) > 1 or split_unit(fact.attribute)[1]:
        return ""
    noun = noun.removeprefix("number of ")
    if noun != fact.attribute or _ends_in_participle(noun):
        return noun
    if noun.endswith(COUNT):
        return make_plural(noun.removesuffix(COUNT))
    first = noun.partition(" of ")[0].split()[-1]
    return noun if make_singular(first) != first else ""


def _ends_in_participle(noun: str) -> bool:
    last = noun.split()[-1]
    return len(noun.split()) > 1 and (last in PARTICIPLES or last.endswith("ed"))


def _finish(text: str) -> str:
    return capitalise(text) + ("" if text.endswith(".") else ".")
