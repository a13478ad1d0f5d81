"""Compose the possible wordings of a query; a model picks one of these wordings.

Without these wordings, a small model writes worse questions. Every wording contains all given values, and no
other values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tasks.databases.columns import Column
from tasks.english import make_plural
from tasks.grammar.construct.descriptions import Described, Describer
from tasks.grammar.construct.measured_words import (
    describe_event,
    find_kind,
    list_bounds,
    name_amount,
    name_extreme,
)
from tasks.grammar.construct.measures import is_pair
from tasks.grammar.construct.names import (
    VERBS,
    WEAK,
    is_name,
    name_column,
    name_column_with_unit,
    name_table,
    names_person,
)
from tasks.grammar.construct.queries import Query, table_of

TAKES_NOUN = ("me", "know", "up", "out")
"""Words that end an opening before a noun phrase, such as `me` in `could you tell me the runtime`."""
ROUNDED = "to one decimal"


@dataclass(frozen=True)
class Wording:
    """A question, the same question in indirect speech, and a noun phrase for the requested thing.

    `indirect` or `noun` is empty if a wording has no such form.
    """

    direct: str
    indirect: str = ""
    noun: str = ""
    thing: bool = False
    """Whether `noun` is the entity itself, such as `the film`.

    Such a noun cannot follow `know`, because `do you know the film ...` does not ask for a name.
    """


@dataclass
class Phrasing:
    """Composes the wordings of a query."""

    query: Query
    columns: Sequence[Column]
    describer: Describer = field(init=False)
    describers: tuple[Describer, ...] = field(init=False)
    asked: str = field(init=False)
    """The table that the query asks about."""

    def __post_init__(self) -> None:
        self.describers = tuple(Describer(self.query, self.columns, called) for called in (False, True))
        self.describer = self.describers[0]
        self.asked = table_of(self.query.projection[0])

    def list_questions(self, opening: str) -> list[str]:
        """List the questions that begin with `opening`, or with a question word if `opening` is empty."""
        found = []
        for describer in self.describers:
            for sentence in self._list_sentences(describer):
                if not opening:
                    found.append(f"{sentence.direct[0].upper()}{sentence.direct[1:]}?")
                    continue
                if sentence.indirect:
                    found.append(f"{opening} {sentence.indirect}?")
                last = opening.split()[-1]
                if sentence.noun and last in TAKES_NOUN and not (sentence.thing and last == "know"):
                    found.append(f"{opening} {sentence.noun}?")
        return list(dict.fromkeys(found))

    def list_fragments(self, form: str) -> list[str]:
        """List fragments, as in a search box.

        `form` sets how the fragments begin: with the requested column (`wanted`), with the given value
        (`given`), or with a question word (`asking`).
        """
        found = []
        for describer in self.describers:
            if form == "asking":
                found += [sentence.direct for sentence in self._list_sentences(describer)]
            else:
                found += self._list_fragments(describer, given_first=form == "given")
        return list(dict.fromkeys(found))

    def _list_sentences(self, describer: Describer) -> Iterator[Wording]:
        one = describer.describe(self.asked)
        many = describer.describe(self.asked, plural=True)
        if self.query.measure == "count":
            yield from self._list_counts(many)
        elif self.query.measure == "average":
            what = f"the average {self._wanted} of the {many.words}, {ROUNDED}"
            yield Wording(f"what is {what}", noun=what)
        elif self.query.measure in ("most", "least"):
            yield from self._list_extremes(one, many)
        elif self.query.measure == "list":
            yield from self._list_lists(many)
        else:
            yield from self._list_lookups(one)

    def _list_counts(self, many: Described) -> Iterator[Wording]:
        noun = f"the number of {many.words}"
        if said := many.say(plural=True):
            counted = f"how many {said}"
            yield Wording(counted, counted, noun)
        else:
            yield Wording(f"how many {many.words} are there", noun=noun)

    def _list_lists(self, many: Described) -> Iterator[Wording]:
        noun = f"the {make_plural(self._wanted)} of all {many.words}"
        if self._is_named and (said := many.say(plural=True)):
            which = f"which {said}"
            yield Wording(which, which, noun)
        if self._is_person:
            yield Wording(f"who are the {many.words}")
        yield Wording(f"what are {noun}", noun=noun)

    def _list_lookups(self, one: Described) -> Iterator[Wording]:
        if len(self.query.projection) == 1 and self._is_named:
            yield from self._list_names(one)
            return
        names = self._list_wanted()
        what = f"the {' and the '.join(names)} of the {one.words}"
        yield Wording(f"what {'is' if len(names) == 1 else 'are'} {what}", noun=what)
        column = self.query.projection[0]
        if len(names) == 1 and find_kind(column, self.columns) == "number":
            yield Wording(f"how many {name_amount(column, self.columns)} does the {one.words} have")
        if len(names) == 1 and (event := describe_event(column, self.columns)):
            when = (
                "in which year" if "year" in (names[0].split()[0], names[0].split()[-1]) else "on which date"
            )
            yield Wording(f"{when} was the {one.words} {event}")

    def _list_names(self, one: Described) -> Iterator[Wording]:
        noun = f"the {one.words}"
        if said := one.say():
            yield Wording(f"which {said}", f"which {said}", noun, thing=not one.belongs)
            return
        role = self.describer.name(self.asked)
        if role in VERBS and one.belongs and one.words == f"{role} {one.belongs[0]}":
            did = f"who {VERBS[role]} {one.belongs[0].removeprefix('of ')}"
            yield Wording(did, did, noun)
        yield Wording(f"{'who' if self._is_person else 'what'} is {noun}", noun=noun)

    def _list_extremes(self, one: Described, many: Described) -> Iterator[Wording]:
        query = self.query
        extreme, amount = name_extreme(query, self.columns), name_amount(query.ranked_by, self.columns)
        if query.ranked_by == query.projection[0]:
            what = f"the {extreme} {self._wanted} of the {many.words}"
            yield Wording(f"what is {what}", noun=what)
        elif is_pair(query):
            which = f"which of the {self._pair} {self._excels}"
            yield Wording(which, which)
        elif self._is_named:
            event, last = describe_event(query.ranked_by, self.columns), query.measure == "most"
            has = f"was {event} {'last' if last else 'first'}" if event else f"has the {extreme} {amount}"
            yield Wording(f"which of the {many.words} {has}", f"which of the {many.words} {has}")
            noun = f"the {one.words} that {has}"
            yield Wording(f"which {one.words} {has}", f"which {one.words} {has}", noun, thing=True)
        else:
            what = f"the {self._wanted} of the {one.words} that has the {extreme} {amount}"
            yield Wording(f"what is {what}", noun=what)

    def _list_fragments(self, describer: Describer, *, given_first: bool) -> Iterator[str]:
        query = self.query
        one = describer.describe(self.asked)
        many = describer.describe(self.asked, plural=True)
        if query.measure in ("most", "least"):
            yield from self._list_extreme_fragments(one, many, given_first=given_first)
        elif query.measure == "count":
            yield f"{'total ' if given_first else ''}number of {many.words}"
        elif query.measure == "average":
            all_of = "all " if given_first else ""
            yield f"average {self._wanted} of {all_of}{many.words}, {ROUNDED}"
        elif query.measure == "list" and self._is_named and not given_first:
            yield from (f"all {many.words}", f"list of {many.words}")
        elif query.measure == "list":
            wanted = make_plural(self._wanted)
            yield from (f"{wanted} of {many.words}", f"{wanted} of all {many.words}")
        elif self._is_named and len(query.projection) == 1:
            yield from self._list_name_fragments(one, given_first=given_first)
        else:
            wanted = " and ".join(self._list_wanted())
            if given_first and not self.describer.scope[1]:
                yield from (f"{one.words}: {wanted}", f"{one.words}, {wanted}")
            else:
                yield from (f"{wanted} of {one.words}", f"{wanted} of the {one.words}")

    def _list_name_fragments(self, one: Described, *, given_first: bool) -> Iterator[str]:
        owner = _find_owner(one) if given_first and not self.describer.scope[1] else ""
        yield from (f"{owner}: {one.noun}", f"{owner}, {one.noun}") if owner else (one.words,)

    def _list_extreme_fragments(self, one: Described, many: Described, *, given_first: bool) -> Iterator[str]:
        query = self.query
        extreme, amount = name_extreme(query, self.columns), name_amount(query.ranked_by, self.columns)
        event = describe_event(query.ranked_by, self.columns)
        if is_pair(query):
            yield f"{self._pair}: which {'one ' if given_first else ''}{self._excels}"
        elif query.ranked_by == query.projection[0]:
            what = f"{extreme} {self._wanted}"
            yield f"{many.words}: {what}" if given_first else f"{what} of {many.words}"
        else:
            lead = "" if self._is_named else f"{self._wanted} of the "
            if event and not lead:
                last = "last" if query.measure == "most" else "first"
                yield (
                    f"{one.words} that was {event} {last}"
                    if given_first
                    else f"{extreme} {event} {one.words}"
                )
            else:
                has = "that has" if given_first or " with " in one.words else "with"
                yield f"{lead}{one.words} {has} the {extreme} {amount}"

    def _list_wanted(self) -> list[str]:
        """List the names of the columns that a lookup asks for; counts are named `number of ...`."""
        return [
            f"number of {name_amount(column, self.columns)}"
            if find_kind(column, self.columns) == "number"
            else name_column_with_unit(column, self.columns)
            for column in self.query.projection
        ]

    @property
    def _excels(self) -> str:
        """Return the predicate that compares two rows, such as `has more seats` or `was released later`."""
        extreme = name_extreme(self.query, self.columns)
        if event := describe_event(self.query.ranked_by, self.columns):
            return f"was {event} {extreme}"
        article = "" if extreme in ("more", "fewer") else "the "
        return f"has {article}{extreme} {name_amount(self.query.ranked_by, self.columns)}"

    @property
    def _wanted(self) -> str:
        column, noun = self.query.projection[0], self.describer.name(self.asked)
        words = name_column_with_unit(column, self.columns)
        # Without the noun, the text would be `the numbers of all flights`, which has another meaning.
        listed = self.query.measure == "list"
        prefixed = words in WEAK and listed and noun == name_table(self.asked, self.columns)
        return f"{noun} {words}" if prefixed else words

    @property
    def _is_named(self) -> bool:
        return is_name(name_column(self.query.projection[0], self.columns))

    @property
    def _is_person(self) -> bool:
        return names_person(self.asked, self.columns)

    @property
    def _pair(self) -> str:
        named = list_bounds(self.describer.name(self.asked), self.query.varied, self.columns)[0]
        return f"{named} {self.describer.scope[1]}".strip()


def _find_owner(described: Described) -> str:
    """Return the words for a row's owner if the owner alone describes the row, otherwise "".

    For example, a film is the owner of its genres.
    """
    if len(described.belongs) != 1:
        return ""
    lead, _, owner = described.belongs[0].partition(" the ")
    alone = described.rest == f"{described.belongs[0]} {described.within}".strip()
    if not alone or " " in lead.removesuffix(" for"):
        return ""
    return f"{owner} {described.within}".strip()


def list_wordings(
    query: Query, columns: Sequence[Column], form: str, circumstance: str, opening: str
) -> list[str]:
    """List the wordings of a query: questions if a circumstance precedes them, otherwise fragments.

    `opening` sets how the questions begin, and `form` sets how the fragments begin.
    """
    phrasing = Phrasing(query, columns)
    if not circumstance:
        return phrasing.list_fragments(form)
    return [f"{circumstance} {question}" for question in phrasing.list_questions(opening)]
