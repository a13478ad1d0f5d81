"""Make the clauses of plain documents, and join the predicates of related facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tasks.grammar.corpus.entities import COLLECTION, ProfileFact
from tasks.grammar.corpus.plain_patterns import (
    DOERS,
    is_clock,
    is_number,
    is_time,
    join,
    list_predicates,
    write_values,
)
from tasks.grammar.corpus.vocabulary import split_unit

MAKERS, NAMES, TIMES, NUMBERS = range(4)
"""The kinds of clauses, in their order in a document."""
CAST = "stars"
MADE = "was made "
RATED = "is rated "
"""The beginning of a clause that must come last in its sentence, because no other predicate can follow it."""
JOINED = frozenset(["had", "has"])
"""Verbs that predicates can share, as in `has an altitude of 18 feet and the code EWR`."""
IDENTITY = ("genre", "industry", "department", "type", "job title", "code")
"""The preferred attributes for a document's first sentence, because they characterise the entity."""
LAST_VERBS = ("has", "received")
"""The verbs of the number clauses that come last in a document, in this order."""
LIGHT = 1
"""A clause may precede another clause in a sentence only if no fact has more than this many values.

Clauses that state makers have no limit.
"""


@dataclass(frozen=True)
class Clause:
    """A predicate about an entity, with the facts that it states.

    `subject` is empty for the document's entity. For a related entity, it is a noun phrase: `the director`.
    """

    subject: str
    text: str
    facts: tuple[ProfileFact, ...]

    @property
    def verb(self) -> str:
        """The first word of the predicate."""
        return self.text.split()[0]

    @property
    def light(self) -> bool:
        """Return whether every fact has one value, so that another clause may follow in the sentence."""
        return all(len(fact.values) <= LIGHT for fact in self.facts)

    @property
    def done_by(self) -> bool:
        """Return whether the clause states who made the entity."""
        return all(fact.attribute in DOERS for fact in self.facts)

    @property
    def rank(self) -> int:
        """The kind of the clause: MAKERS, NAMES, TIMES or NUMBERS."""
        fact = self.facts[0]
        if self.done_by or self.verb == CAST:
            return MAKERS
        if is_time(fact) or is_clock(fact) or self.text.startswith(("runs ", RATED)):
            return TIMES
        return NUMBERS if is_number(fact) else NAMES


def make_clauses(facts: Sequence[ProfileFact], name: str, kind: str) -> list[Clause]:
    """Return the clauses for an entity's facts, in the order of the document.

    Facts without a predicate are left out and get separate sentences.
    """
    several = {fact.attribute for fact in facts if len(fact.values) > 1}
    named = {fact.attribute.partition(" of the ")[2] for fact in facts} - several - set(DOERS)
    own, others = [], []
    for fact in facts:
        attribute, _, other = fact.attribute.partition(" of the ")
        if fact.subject != name or fact.subject == COLLECTION:
            continue
        if attribute in named:
            others.append(Clause(f"the {attribute}", f"is {write_values(fact)}", (fact,)))
        elif not other:
            own += [Clause("", text, (fact,)) for text in list_predicates(fact, kind)[:1]]
        elif len(fact.values) == 1 and other not in several:
            told = list_predicates(replace(fact, attribute=attribute), other.split()[-1])
            others += [Clause(f"the {other}", text, (fact,)) for text in told[:1]]
    found = sorted(_merge_made(_merge_doers(own)), key=_place)
    return [*found, *sorted(others, key=lambda clause: (clause.subject, *_place(clause)))]


def choose_identity(clauses: Iterable[Clause]) -> Clause | None:
    """Return the clause for the first sentence, which also states the kind of entity, or None."""
    fit = [clause for clause in clauses if not clause.subject and shorten(clause.text)]

    def prefer(clause: Clause) -> tuple[int, int]:
        attribute = split_unit(clause.facts[0].attribute)[0]
        place = IDENTITY.index(attribute) if attribute in IDENTITY else len(IDENTITY)
        return place, (NAMES, MAKERS, NUMBERS, TIMES).index(clause.rank)

    return min(fit, key=prefer, default=None)


def shorten(text: str) -> str:
    """Return a predicate in a form that can follow a noun, as in `a film directed by her`.

    Returns "" if the predicate has no such form.
    """
    for start, short in (
        ("belongs to ", "of "), ("works in ", "in "), ("has the ", "with the "), ("has a ", "with a "),
        ("has an ", "with an "),
    ):  # fmt: skip
        if text.startswith(start):
            return short + text.removeprefix(start)
    found = re.fullmatch(r"(?:is|was) (.+)", text)
    return found[1] if found else ""


def join_clauses(clauses: Sequence[Clause]) -> str:
    """Join the predicates of one subject; a verb that all predicates share occurs once."""
    first, *others = clauses
    if all(clause.verb == first.verb for clause in others) and (
        first.verb in JOINED or all(clause.done_by for clause in clauses)
    ):
        return join([first.text, *(clause.text.removeprefix(f"{clause.verb} ") for clause in others)])
    return join([clause.text for clause in clauses])


def can_follow(clause: Clause, others: Sequence[Clause]) -> bool:
    """Return whether a clause can follow other clauses in one sentence."""
    if clause.subject != others[0].subject or others[-1].text.startswith(RATED):
        return False
    if (clause.rank == MAKERS) != (others[-1].rank == MAKERS):
        return False
    if clause.done_by and all(other.done_by for other in others):
        return True
    verbs = [other.verb for other in others]
    alike = clause.verb in JOINED and set(verbs) == {clause.verb}
    apart = len({*verbs, clause.verb}) == len(verbs) + 1
    return all(other.light for other in others) and (alike or apart)


def _merge_doers(clauses: Sequence[Clause]) -> list[Clause]:
    """Merge clauses with the same makers, as in `was written and directed by Ada`."""
    groups: dict[object, list[Clause]] = {}
    for clause in clauses:
        groups.setdefault(clause.facts[0].values if clause.done_by else clause, []).append(clause)
    return [_merge_alike(group) for group in groups.values()]


def _merge_alike(group: Sequence[Clause]) -> Clause:
    if len(group) == 1:
        return group[0]
    facts = [fact for clause in group for fact in clause.facts]
    facts.sort(key=lambda fact: DOERS[fact.attribute] != "written")
    done = join([DOERS[fact.attribute] for fact in facts])
    return Clause("", f"{group[0].verb} {done} by {write_values(facts[0])}", tuple(facts))


def _merge_made(clauses: Sequence[Clause]) -> list[Clause]:
    """Merge the clauses about place and maker, as in `was made in France by the company Gaumont`."""
    places = [clause for clause in clauses if clause.text.startswith(f"{MADE}in ")]
    makers = [clause for clause in clauses if clause.text.startswith(f"{MADE}by ")]
    if len(places) != 1 or len(makers) != 1:
        return list(clauses)
    (place,), (maker,) = places, makers
    both = Clause("", f"{place.text} {maker.text.removeprefix(MADE)}", (*place.facts, *maker.facts))
    return [both, *(clause for clause in clauses if clause not in (place, maker))]


def _place(clause: Clause) -> tuple[object, ...]:
    if clause.text == f"is {write_values(clause.facts[0])}":
        return (-1,)
    first = {
        MAKERS: not clause.done_by,
        NAMES: not clause.text.startswith(MADE),
        TIMES: 0 if is_time(clause.facts[0]) and clause.verb != "ends" else 2 if clause.verb == "is" else 1,
        NUMBERS: LAST_VERBS.index(clause.verb) + 1 if clause.verb in LAST_VERBS else 0,
    }
    return clause.rank, first[clause.rank], not clause.light
