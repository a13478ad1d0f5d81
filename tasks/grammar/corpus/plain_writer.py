"""Write about a thing plainly, from its facts alone: no model, and nothing that the facts do not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import make_id
from tasks.grammar.corpus.entities import COLLECTION, Fact
from tasks.grammar.corpus.plain_patterns import (
    DOERS,
    capitalise,
    choose_article,
    is_number,
    is_time,
    list_predicates,
    list_sentences,
    name_counted,
)
from tasks.grammar.corpus.sentence_rules import Ground, find_fault

PARAGRAPH = 5
"""Maximum number of facts that one paragraph tells."""
LEAD = 6
"""Maximum number of facts that the first paragraph tells in short."""
FEW = 3
"""A fact of more values stands in its own paragraph only; of more than `LEAD`, one of who made it."""
LONG = 4
"""A name of more words stands at the head of a paragraph only."""
JOINED = ("has", "was", "is")
"""Verbs that need not be said twice: has a runtime of 85 minutes and a score of 81."""


@dataclass(frozen=True)
class PlainSentence:
    """A sentence, and the ids of the facts that it tells."""

    text: str
    facts: tuple[str, ...]


class PlainWriter:
    """Writes sentences about the thing of a ground.

    by_name: name the thing in every sentence, as where a document tells of several.

    seed: what the choice among patterns hangs on, with the fact's id: documents differ, and each stays.
    """

    def __init__(self, name: str, ground: Ground, seed: Sequence[object], *, by_name: bool = False) -> None:
        self._name, self._ground, self._seed, self._by_name = name, ground, tuple(seed), by_name

    def write_fact(self, fact: Fact, turn: int, attempt: int = 0) -> tuple[PlainSentence | None, str]:
        """Write a fact as one sentence; None if no pattern keeps the rules, with the fault of the last.

        turn: the sentence's number in its paragraph; the first names the thing in full. attempt: raised for
        another pattern.
        """
        *texts, plainest = self._list_texts(fact, turn)
        start = (self._draw(fact.id) + attempt) % max(len(texts), 1)
        fault = ""
        for text in [*texts[start:], *texts[:start], plainest]:
            if not (fault := find_fault(text, self._ground)):
                return PlainSentence(text, (fact.id,)), ""
        return None, fault

    def write_pair(self, facts: Sequence[Fact], turn: int) -> PlainSentence | None:
        """Write two facts, or one, in a sentence of one subject; None if that breaks a rule."""
        return self._write_predicates(self._mention(turn, facts[0]), facts)

    def write_lead(self, facts: Sequence[Fact]) -> list[PlainSentence]:
        """Write a first paragraph: what the thing is, then a few facts in short, two to a sentence."""
        kind = self._ground.kind
        waiting = [fact for fact in facts if self.can_pair(fact) and _is_short(fact)][:LEAD]
        found: list[PlainSentence] = []
        while waiting:
            subject = self._name if len(found) % 2 == 0 else f"the {kind}"
            if not found:
                subject = f"{self._name} is {choose_article(kind)} {kind} that"
            sentence = None
            for size in (2, 1):  # two lists of the same names make no sentence
                if sentence is None:
                    sentence = self._write_predicates(subject, waiting[:size])
            if sentence is not None:
                found.append(sentence)
            waiting = waiting[len(sentence.facts) if sentence else 1 :]
        return found

    def can_pair(self, fact: Fact) -> bool:
        """Tell whether a fact can stand in a sentence with another one."""
        return fact.subject == self._name and bool(list_predicates(fact, self._ground.kind))

    def _write_predicates(self, subject: str, facts: Sequence[Fact]) -> PlainSentence | None:
        first, *others = (list_predicates(fact, self._ground.kind)[0] for fact in facts)
        auxiliary = first.split()[0]
        joined = [other.removeprefix(f"{auxiliary} ") if auxiliary in JOINED else other for other in others]
        text = f"{subject} {' and '.join([first, *joined])}"
        if all(re.match(r"(?:(?:was|is) )?\w+ by ", part) for part in (first, *joined)):
            # A film that was directed by her: a film directed by her.
            text = re.sub(r" that (?:was|is) (?=\w+ by )", " ", text)
        text = re.sub(r"(\w+) by (.+) and (?:was |is )?(\w+) by \2$", r"\1 and \3 by \2", text)
        text = capitalise(text) if text.startswith(("the ", "this ")) else text
        text = text if text.endswith(".") else f"{text}."
        if find_fault(text, self._ground):
            return None
        return PlainSentence(text, tuple(fact.id for fact in facts))

    def _list_texts(self, fact: Fact, turn: int) -> Iterator[str]:
        kind = self._ground.kind
        if fact.subject == COLLECTION:
            value = f"{int(fact.values[0]):,}"
            things = name_counted(fact.attribute, kind)
            yield f"The database has {value} {things}."
            yield f"There are {value} {things} in the database."
            yield f"The number of {things} in the database is {value}."
            return
        if fact.subject != self._name:
            yield from list_sentences(fact.subject, fact, kind)
            return
        yield from list_sentences(self._mention(turn, fact), fact, kind)

    def _mention(self, turn: int, fact: Fact) -> str:
        kind = self._ground.kind
        if turn == 0 or self._by_name:
            return f"the {kind} {self._name}" if self._draw("full", fact.id) % 2 else self._name
        forms = [f"the {kind}", self._name, f"the {kind}", f"this {kind}"]
        if len(self._name.split()) > LONG:
            forms.remove(self._name)
        return forms[(turn + self._draw("mention", fact.id)) % len(forms)]

    def _draw(self, *key: object) -> int:
        return int(make_id(*self._seed, *key), 16)


def write_paragraphs(
    writer: PlainWriter,
    facts: Sequence[Fact],
    least: int,
    attempts: Mapping[str, int],
) -> tuple[list[list[PlainSentence]], list[tuple[Fact, str]]]:
    """Write all facts in paragraphs; before them a lead that tells some in short, if words are wanting.

    least: the number of words that are due. attempts: fact id -> how often it was written before; such a
    fact gets a sentence of its own. Also returns the facts that no pattern can say, with the fault.
    """
    paragraphs, failed = [], []
    years = find_years_told(facts, attempts)
    told = order_facts([fact for fact in facts if fact.id not in years.values()])
    for group in group_facts(told):
        sentences: list[PlainSentence] = []
        waiting = list(group)
        while waiting:
            fact = waiting.pop(0)
            pair = [fact, *waiting[:1]]
            pairable = bool(sentences) and len(pair) == 2
            pairable = pairable and all(_is_pairable(one, writer, attempts) for one in pair)
            sentence = writer.write_pair(pair, len(sentences)) if pairable else None
            if sentence is not None:
                sentences.append(sentence)
                waiting.pop(0)
                continue
            sentence, fault = writer.write_fact(fact, len(sentences), attempts.get(fact.id, 0))
            if sentence is None:
                failed.append((fact, fault))
            else:
                sentences.append(sentence)
        if sentences:
            paragraphs.append([_add_years(sentence, years) for sentence in sentences])
    if sum(len(sentence.text.split()) for sentences in paragraphs for sentence in sentences) < least:
        lead = [_add_years(sentence, years) for sentence in writer.write_lead(told)]
        paragraphs = [lead, *paragraphs] if lead else paragraphs
    return paragraphs, failed


def find_years_told(facts: Sequence[Fact], attempts: Mapping[str, int]) -> Mapping[str, str]:
    """Find the years that a date of the same event tells: id of the date's fact -> id of the year's."""
    years = {
        (fact.subject, fact.attribute.removesuffix(" year"), fact.values): fact.id
        for fact in facts
        if fact.attribute.endswith(" year") and not attempts.get(fact.id)
    }
    found = {
        fact.id: years.get((fact.subject, fact.attribute.removesuffix(" date"), (fact.values[0][:4],)))
        for fact in facts
        if fact.attribute.endswith(" date") and len(fact.values) == 1 and is_time(fact)
    }
    return {date: year for date, year in found.items() if year is not None}


def _add_years(sentence: PlainSentence, years: Mapping[str, str]) -> PlainSentence:
    told = (years[fact] for fact in sentence.facts if fact in years)
    return PlainSentence(sentence.text, (*sentence.facts, *told))


def _is_pairable(fact: Fact, writer: PlainWriter, attempts: Mapping[str, int]) -> bool:
    return not attempts.get(fact.id) and writer.can_pair(fact) and (is_number(fact) or is_time(fact))


def _is_short(fact: Fact) -> bool:
    """Tell whether a fact is worth telling twice: no long list, and something rather than nothing."""
    return len(fact.values) <= (LEAD if fact.attribute in DOERS else FEW) and fact.values != ("0",)


def order_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Order facts as an encyclopedia does: who made it, names, dates and years, numbers, the collection."""
    return sorted(facts, key=_rank)


def group_facts(facts: Sequence[Fact]) -> list[list[Fact]]:
    """Group facts into paragraphs of one kind of facts each, about equally long."""
    groups: dict[int, list[Fact]] = {}
    for fact in order_facts(facts):
        groups.setdefault(max(_rank(fact), NAMES), []).append(fact)
    # Dates go with the numbers where there are few of either.
    few = len(groups.get(TIMES, [])) + len(groups.get(NUMBERS, [])) <= PARAGRAPH
    if TIMES in groups and (few or len(groups[TIMES]) == 1):
        groups[NUMBERS] = groups.pop(TIMES) + groups.get(NUMBERS, [])
    split = []
    for _, group in sorted(groups.items()):
        parts = -(-len(group) // PARAGRAPH)
        size = -(-len(group) // parts)
        split += [group[at : at + size] for at in range(0, len(group), size)]
    return split


def _rank(fact: Fact) -> int:
    if fact.subject == COLLECTION:
        return OF_COLLECTION
    if fact.attribute in DOERS:
        return MAKERS
    if is_time(fact):
        return TIMES
    return NUMBERS if is_number(fact) else NAMES


MAKERS, NAMES, TIMES, NUMBERS, OF_COLLECTION = range(5)
"""Kinds of facts, in the order in which they are told."""
