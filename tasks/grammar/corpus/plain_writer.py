"""Write plain text about an entity from its facts alone, without a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tasks.artifacts.rows import make_id
from tasks.english import choose_article
from tasks.grammar.corpus.entities import COLLECTION, ProfileFact
from tasks.grammar.corpus.plain_clauses import (
    Clause,
    can_follow,
    choose_identity,
    join_clauses,
    make_clauses,
    shorten,
)
from tasks.grammar.corpus.plain_patterns import (
    capitalise,
    is_time,
    list_sentences,
    name_counted,
)
from tasks.grammar.corpus.sentence_rules import KnownFacts, find_fault

MODEL, PLAIN = "model", "plain"
"""The authors of sentences: a model, or the code in this module."""
PARAGRAPH = 7
"""The maximum number of facts in a paragraph, not counting facts about the whole database."""
FEW = 3
"""Up to this many facts without a clause are appended to the last paragraph. A larger number of facts forms
a new paragraph."""
SENTENCE = 3
"""The maximum number of clauses in a sentence."""
LONG = 4
"""A name with at most this many words is repeated after the first sentence."""
THINGS = frozenset([
    "airline", "airport", "album", "article", "book", "building", "car", "city", "company",
    "country", "department", "episode", "film", "flight", "model", "movie", "novel", "plane", "play",
    "product", "project", "school", "series", "ship", "song", "station", "store", "team", "town", "train",
])  # fmt: skip
"""The kinds of entity that the pronoun `it` can refer to. Entities of other kinds may be people, so the kind
is repeated."""


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence that passed the checks, with the ids of the facts that it states."""

    text: str
    writer: str
    facts: tuple[str, ...]


class PlainWriter:
    """Writes sentences about one entity from the known facts.

    `by_name` repeats the entity's name in every sentence, for documents about several entities. `seed` and
    the fact's id select a pattern, so that documents are varied but reproducible.
    """

    def __init__(
        self, name: str, known_facts: KnownFacts, seed: Sequence[object], *, by_name: bool = False
    ) -> None:
        self.name, self._known_facts, self._seed, self._by_name = name, known_facts, tuple(seed), by_name

    def write_fact(
        self, fact: ProfileFact, turn: int, attempt: int = 0
    ) -> tuple[CheckedSentence | None, str]:
        """Return a sentence that states a fact, or None and the last problem if all patterns break rules.

        If there is a sentence, the problem is "". `turn` is the sentence's position in its paragraph, from 0;
        the first sentence contains the full name. A higher `attempt` selects another pattern.
        """
        *texts, plainest = self._list_texts(fact, turn)
        start = (self._draw(fact.id) + attempt) % max(len(texts), 1)
        fault = ""
        for text in [*texts[start:], *texts[:start], plainest]:
            if not (fault := find_fault(text, self._known_facts)):
                return CheckedSentence(text, PLAIN, (fact.id,)), ""
        return None, fault

    def make_clauses(self, facts: Sequence[ProfileFact]) -> list[Clause]:
        """Return the clauses for facts about the entity, in the order of the document."""
        return make_clauses(facts, self.name, self._known_facts.kind)

    def write_first(self, clauses: Sequence[Clause]) -> tuple[CheckedSentence | None, list[Clause]]:
        """Return a first sentence with the kind of entity and up to three clauses, and the remaining clauses.

        The sentence is None if no clause fits, or if the name begins with the kind, such as plane N10156.
        """
        kind, identity = self._known_facts.kind, choose_identity(clauses)
        if identity is None or self.name.casefold().startswith(kind.casefold()):
            return None, list(clauses)
        text = f"{self.name} is {choose_article(kind)} {kind} {shorten(identity.text)}"
        makers = [clause for clause in clauses if clause.done_by and clause is not identity]
        for told in ([identity, *makers[:2]], [identity]):
            done = " and ".join(shorten(clause.text) for clause in told[1:])
            if len(told) > 1 and (identity.done_by or self._draw("first", identity.text) % 2):
                continue
            if sentence := self._check(f"{text}, {done}" if done else text, told):
                return sentence, [clause for clause in clauses if clause not in told]
        return None, list(clauses)

    def write_clauses(
        self, clauses: Sequence[Clause], number: int, said: Sequence[str]
    ) -> tuple[CheckedSentence | None, int]:
        """Return a sentence with as many leading clauses as fit, and the number of these clauses.

        `number` is the sentence's position in its document, from 0. `said` contains the `Clause.subject` of
        each earlier sentence in the paragraph. If no clause fits, the result is None and 0.
        """
        alike = [clause.rank == clauses[0].rank for clause in clauses[: SENTENCE + 1]]
        most = SENTENCE if alike == [True] * SENTENCE + [False] else SENTENCE - self._draw("size", number) % 2
        fit = list(clauses[:1])
        for clause in clauses[1:most]:
            if not can_follow(clause, fit):
                break
            fit.append(clause)
        following = [
            clause for clause in clauses[len(fit) : len(fit) + 1] if clause.subject == fit[0].subject
        ]
        if len(fit) > 1 and following and fit[-2].verb != fit[-1].verb == following[0].verb:
            fit.pop()  # keep clauses with the same verb together, such as two scores
        full = clauses[0].subject or f"the {self._known_facts.kind}"
        for subject in (self._choose_subject(clauses[0].subject, number, said), full):
            for size in range(len(fit), 0, -1):
                if sentence := self._check(f"{subject} {join_clauses(fit[:size])}", fit[:size]):
                    return sentence, size
        return None, 0

    def _choose_subject(self, other: str, number: int, said: Sequence[str]) -> str:
        full = other or f"the {self._known_facts.kind}"
        if not said and not other and (number == 0 or len(self.name.split()) <= LONG):
            return self.name
        alike = sum(1 for _ in takewhile(other.__eq__, reversed(said)))
        # At most every second sentence about the same entity has a pronoun.
        pronoun = alike % 2 or (alike and self._draw("it", number) % 2)
        return "it" if pronoun and full.split()[-1] in THINGS else full

    def _check(self, text: str, clauses: Sequence[Clause]) -> CheckedSentence | None:
        text = text if text.endswith(".") else f"{text}."
        if not self.name[0].isupper() or not text.startswith(self.name):
            text = capitalise(text)
        if find_fault(text, self._known_facts):
            return None
        return CheckedSentence(text, PLAIN, tuple(fact.id for clause in clauses for fact in clause.facts))

    def _list_texts(self, fact: ProfileFact, turn: int) -> Iterator[str]:
        kind = self._known_facts.kind
        if fact.subject == COLLECTION:
            value = f"{int(fact.values[0]):,}"
            things = name_counted(fact.attribute, kind)
            yield f"In all, the database has {value} {things}."
            yield f"The number of {things} in the database is {value}."
            return
        if fact.subject != self.name:
            yield from list_sentences(fact.subject, fact, kind)
            return
        yield from list_sentences(self._mention(turn, fact), fact, kind)

    def _mention(self, turn: int, fact: ProfileFact) -> str:
        kind = self._known_facts.kind
        if self.name.casefold().startswith(kind.casefold()):
            return self.name  # avoids `the flight flight 12`
        if turn == 0 or self._by_name:
            return f"the {kind} {self.name}" if self._draw("full", fact.id) % 2 else self.name
        forms = [f"the {kind}", self.name, f"the {kind}", f"this {kind}"]
        if len(self.name.split()) > LONG:
            forms.remove(self.name)
        return forms[(turn + self._draw("mention", fact.id)) % len(forms)]

    def _draw(self, *key: object) -> int:
        return int(make_id(*self._seed, *key), 16)


def write_paragraphs(
    writer: PlainWriter,
    facts: Sequence[ProfileFact],
    attempts: Mapping[str, int],
    named: Collection[str] = (),
) -> tuple[list[list[CheckedSentence]], list[tuple[ProfileFact, str]]]:
    """Return paragraphs that state each fact once, and a (fact, problem) pair per fact without a sentence.

    `attempts` contains the number of earlier attempts by fact id; a fact with an earlier attempt gets a
    separate sentence. `named` contains the ids of facts that are part of the name; the first sentence with
    the name states these facts.
    """
    years = find_years_told(facts, attempts)
    in_name = [fact.id for fact in facts if fact.id in named and not attempts.get(fact.id)]
    told = [fact for fact in facts if fact.id not in (*years.values(), *in_name)]
    clauses = writer.make_clauses([fact for fact in told if not attempts.get(fact.id)])
    first, rest = writer.write_first(clauses)
    paragraphs: list[list[CheckedSentence]] = []
    number = 0
    for part in group_clauses(rest, len(first.facts) if first else 0):
        sentences = [first] if first and not paragraphs else []
        said = [""] * len(sentences)
        waiting = list(part)
        while waiting:
            sentence, size = writer.write_clauses(waiting, number + len(sentences), said)
            if sentence is not None:
                sentences.append(sentence)
                said.append(waiting[0].subject)
            waiting = waiting[size or 1 :]
        number += len(sentences)
        paragraphs.append(sentences)
    done = {fact for sentences in paragraphs for sentence in sentences for fact in sentence.facts}
    left = [fact for fact in told if fact.id not in done]
    left.sort(key=lambda fact: fact.subject == COLLECTION)
    failed = []
    for group in (left[at : at + PARAGRAPH] for at in range(0, len(left), PARAGRAPH)):
        sentences = paragraphs.pop() if paragraphs and len(group) <= FEW else []
        for fact in group:
            sentence, fault = writer.write_fact(fact, len(sentences), attempts.get(fact.id, 0))
            if sentence is None:
                failed.append((fact, fault))
            else:
                sentences.append(sentence)
        paragraphs.append(sentences)
    paragraphs = [
        [_add_years(sentence, years) for sentence in sentences] for sentences in paragraphs if sentences
    ]
    if in_name:
        # If the first sentence lacks the name, the facts that are part of the name need separate sentences.
        if not paragraphs or writer.name.casefold() not in paragraphs[0][0].text.casefold():
            return write_paragraphs(writer, facts, attempts)
        paragraphs[0][0] = replace(paragraphs[0][0], facts=(*paragraphs[0][0].facts, *in_name))
    return paragraphs, failed


def group_clauses(clauses: Sequence[Clause], taken: int) -> list[list[Clause]]:
    """Group clauses into paragraphs; clauses of one kind or about one related entity stay together.

    Such clauses are split if they have more than `PARAGRAPH` facts in total. `taken` is the number of facts
    that the first paragraph already contains.
    """
    groups: dict[int | str, list[Clause]] = {}
    for clause in clauses:
        groups.setdefault(clause.subject or clause.rank, []).append(clause)
    parts: list[list[Clause]] = [[]]
    for group in groups.values():
        pieces = -(-_count_facts(group) // PARAGRAPH)
        size = -(-len(group) // pieces)
        for piece in (group[at : at + size] for at in range(0, len(group), size)):
            taken += _count_facts(piece)
            if taken > PARAGRAPH:
                parts.append([])
                taken = _count_facts(piece)
            parts[-1] += piece
    return parts


def _count_facts(clauses: Sequence[Clause]) -> int:
    return sum(len(clause.facts) for clause in clauses)


def find_years_told(facts: Sequence[ProfileFact], attempts: Mapping[str, int]) -> Mapping[str, str]:
    """Map each fact with the date of an event to the fact with the year of the same event (id -> id).

    A sentence with the date also states the year. Dates without a matching year are left out. Years with an
    earlier attempt are ignored.
    """
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


def _add_years(sentence: CheckedSentence, years: Mapping[str, str]) -> CheckedSentence:
    told = (years[fact] for fact in sentence.facts if fact in years)
    return replace(sentence, facts=(*sentence.facts, *told))
