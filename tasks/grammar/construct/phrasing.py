"""Compose the ways to word a query, for a model that picks one: a small one words it no better by itself.

Every wording names all that is given, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from tasks.databases.columns import Column
from tasks.grammar.construct.descriptions import Described, Describer, Style
from tasks.grammar.construct.measured_words import (
    describe_event,
    find_kind,
    list_bounds,
    name_amount,
    name_extreme,
)
from tasks.grammar.construct.measures import is_pair
from tasks.grammar.construct.names import (
    NAMES,
    WEAK,
    make_plural,
    name_column,
    name_column_with_unit,
    name_table,
)
from tasks.grammar.construct.queries import Query, table_of
from tasks.grammar.construct.ties import BELONGINGS, VERBS, is_participle

PEOPLE = frozenset(["person", "employee", "member", "customer", "doctor", "player", "author", "student"])
TAKES_NOUN = ("me", "know", "up", "out")
"""Last words of openings after which a noun may stand: could you tell me the runtime."""
STYLES = (Style(), Style(called=True), Style(whose=True))
ROUNDED = "to one decimal"


@dataclass(frozen=True)
class Wording:
    """A question, the same in indirect speech, and what it asks for as a noun, if that can be said."""

    direct: str
    indirect: str
    noun: str = ""


@dataclass
class Phrasing:
    """A query to be worded."""

    query: Query
    columns: Sequence[Column]
    describer: Describer = field(init=False)
    asked: str = field(init=False)
    """The table that is asked about."""

    def __post_init__(self) -> None:
        self.describer = Describer(self.query, self.columns)
        self.asked = table_of(self.query.projection[0])

    def list_questions(self, opening: str) -> list[str]:
        """List the questions that begin with these words; with a question word if they are empty."""
        found = []
        for style in STYLES:
            for sentence in self._list_sentences(style):
                if not opening:
                    found.append(f"{sentence.direct[0].upper()}{sentence.direct[1:]}?")
                    continue
                found.append(f"{opening} {sentence.indirect}?")
                if sentence.noun and opening.split()[-1] in TAKES_NOUN:
                    found.append(f"{opening} {sentence.noun}?")
        return list(dict.fromkeys(found))

    def list_fragments(self, form: str) -> list[str]:
        """List search phrases. form: what they begin with: wanted, given or asking."""
        found = []
        for style in STYLES:
            if form == "asking":
                found += [sentence.direct for sentence in self._list_sentences(style)]
            else:
                found += self._list_fragments(style, given_first=form == "given")
        return list(dict.fromkeys(found))

    def _list_sentences(self, style: Style) -> Iterator[Wording]:
        one = self.describer.describe(self.asked, style)
        many = self.describer.describe(self.asked, style, plural=True)
        if self.query.measure == "count":
            yield from self._list_counts(style, many)
        elif self.query.measure == "average":
            what = f"average {self._wanted} of the {many.words}, {ROUNDED}"
            yield Wording(f"what is the {what}", f"what the {what}, is", f"the {what}")
        elif self.query.measure in ("most", "least"):
            yield from self._list_extremes(one, many)
        elif self.query.measure == "list":
            yield from self._list_lists(style, many)
        else:
            yield from self._list_lookups(one)

    def _list_counts(self, style: Style, many: Described) -> Iterator[Wording]:
        if owner := self._find_owner():
            listed = f"{many.noun} are listed for the {self.describer.describe(owner, style).words}"
            yield Wording(f"how many {listed}", f"how many {listed}")
            return
        noun = f"the number of {many.words}"
        yield Wording(f"how many {many.words} are there", f"how many {many.words} there are", noun)
        if many.rest and not is_participle(many.rest):
            yield Wording(
                f"how many {many.noun} are there {many.rest}", f"how many {many.noun} there are {many.rest}"
            )

    def _list_lists(self, style: Style, many: Described) -> Iterator[Wording]:
        if not self._is_named:
            what = f"{make_plural(self._wanted)} of all {many.words}"
            yield Wording(f"what are the {what}", f"what the {what} are", f"the {what}")
            return
        noun = f"the names of all {many.words}"
        if owner := self._find_owner():
            listed = f"{many.noun} are listed for the {self.describer.describe(owner, style).words}"
            yield Wording(f"which {listed}", f"which {listed}", noun)
            if self._is_person:
                yield Wording(f"who are the {many.words}", f"who the {many.words} are")
        elif is_participle(many.rest):
            are = f"which {many.noun} are {many.rest}"
            # `are directed by X with a rating` would leave open what has it.
            if not many.traits:
                yield Wording(are, are, f"all the {many.words}")
            yield Wording(f"what are the titles of all {many.words}" if self._is_titled else
                           f"what are the names of all {many.words}",
                           f"what all the {many.words} are called", f"all the {many.words}")  # fmt: skip
        else:
            yield Wording(
                f"which {many.noun} are there {many.rest}",
                f"which {many.noun} there are {many.rest}",
                f"all the {many.words}",
            )

    def _list_lookups(self, one: Described) -> Iterator[Wording]:
        if len(self.query.projection) == 1 and self._is_named:
            yield from self._list_names(one)
            return
        names = self._list_wanted()
        what, be = f"{' and the '.join(names)} of the {one.words}", "is" if len(names) == 1 else "are"
        yield Wording(f"what {be} the {what}", f"what the {what} {be}", f"the {what}")
        column = self.query.projection[0]
        if len(names) == 1 and find_kind(column, self.columns) == "number":
            counted = name_amount(column, self.columns)
            yield Wording(
                f"how many {counted} does the {one.words} have", f"how many {counted} the {one.words} has"
            )
        if len(names) == 1 and (event := describe_event(column, self.columns)):
            when = "in which year" if names[0].endswith("year") else "on which date"
            yield Wording(f"{when} was the {one.words} {event}", f"{when} the {one.words} was {event}")

    def _list_names(self, one: Described) -> Iterator[Wording]:
        if is_participle(one.rest) and not one.traits:
            yield Wording(f"which {one.words.replace(' ', ' is ', 1)}", f"which {one.noun} is {one.rest}")
            return
        role = self.describer.name(self.asked)
        if role in VERBS and one.belongs and one.words == f"{role} {one.belongs[0]}":
            did = f"who {VERBS[role]} {one.belongs[0].removeprefix('of ')}"
            yield Wording(did, did, f"the {one.words}")
        who = "who" if self._is_person else "what"
        yield Wording(
            f"{who} is the {one.words}", f"{who} the {one.words} is", f"the name of the {one.words}"
        )

    def _list_extremes(self, one: Described, many: Described) -> Iterator[Wording]:
        query = self.query
        extreme, amount = name_extreme(query, self.columns), name_amount(query.ranked_by, self.columns)
        if query.ranked_by == query.projection[0]:
            what = f"{extreme} {self._wanted} of the {many.words}"
            yield Wording(f"what is the {what}", f"what the {what} is", f"the {what}")
        elif is_pair(query):
            of = list_bounds(self.describer.name(self.asked), query.varied, self.columns)[0]
            which = f"which of the {of} has {self._more}"
            yield Wording(which, which)
            yield Wording(
                f"of the {of}, which has {self._more}",
                f"which has {self._more}, of the {of}",
            )
        elif self._is_named:
            event, last = describe_event(query.ranked_by, self.columns), query.measure == "most"
            has = f"was {event} {'last' if last else 'first'}" if event else f"has the {extreme} {amount}"
            yield Wording(f"which of the {many.words} {has}", f"which of the {many.words} {has}")
            noun = f"the {one.words} that {has}"
            yield Wording(f"which {one.words} {has}", f"which {one.words} {has}", noun)
        else:
            what = f"{self._wanted} of the {one.words} that has the {extreme} {amount}"
            yield Wording(f"what is the {what}", f"what the {what} is", f"the {what}")

    def _list_fragments(self, style: Style, *, given_first: bool) -> Iterator[str]:
        query = self.query
        one = self.describer.describe(self.asked, style)
        many = self.describer.describe(self.asked, style, plural=True)
        if query.measure in ("most", "least"):
            yield from self._list_extreme_fragments(one, many, given_first=given_first)
        elif query.measure == "count":
            if owner := self._find_owner():
                had = self.describer.describe(owner, style).words
                yield f"{had}: number of {many.noun}" if given_first else f"number of {many.noun} of {had}"
            else:
                yield f"{many.words}: how many" if given_first else f"number of {many.words}"
        elif query.measure == "average":
            what = f"average {self._wanted}"
            yield (
                f"{many.words}: {what}, {ROUNDED}" if given_first else (f"{what} of {many.words}, {ROUNDED}")
            )
        elif query.measure == "list" and self._is_named:
            if given_first and (owner := self._find_owner()):
                yield f"{self.describer.describe(owner, style).words}: {many.noun}"
                yield f"{self.describer.describe(owner, style).words}: all {many.noun}"
            elif given_first:
                yield f"{many.words}: list"
            else:
                yield from (f"all {many.words}", f"list of {many.words}")
        elif query.measure == "list":
            what = make_plural(self._wanted)
            yield f"{many.words}: {what}" if given_first else f"{what} of all {many.words}"
        elif self._is_named and len(query.projection) == 1:
            yield from self._list_name_fragments(one, given_first=given_first)
        else:
            wanted = " and ".join(self._list_wanted())
            if given_first:
                yield from (f"{one.words}: {wanted}", f"{one.words}, {wanted}")
            else:
                yield from (f"{wanted} of {one.words}", f"{wanted} of the {one.words}")

    def _list_name_fragments(self, one: Described, *, given_first: bool) -> Iterator[str]:
        if not given_first or len(one.belongs) != 1 or one.rest != one.belongs[0]:
            yield one.words
            if not given_first:
                yield f"name of the {one.words}"
            return
        preposition = BELONGINGS.get(self.describer.name(self.asked), "of")
        rest = one.rest.removeprefix(f"{preposition} the ")
        yield from (f"{rest}: {one.noun}", f"{rest}, {one.noun}")

    def _list_extreme_fragments(self, one: Described, many: Described, *, given_first: bool) -> Iterator[str]:
        query = self.query
        extreme, amount = name_extreme(query, self.columns), name_amount(query.ranked_by, self.columns)
        event = describe_event(query.ranked_by, self.columns)
        if is_pair(query):
            of = list_bounds(self.describer.name(self.asked), query.varied, self.columns)[0]
            yield f"{of}: the one with {self._more}" if given_first else f"which has {self._more}, {of}"
        elif query.ranked_by == query.projection[0]:
            yield (
                f"{many.words}: {extreme} {self._wanted}"
                if given_first
                else (f"{extreme} {self._wanted} of {many.words}")
            )
        else:
            lead = "" if self._is_named else f"{self._wanted} of the "
            if given_first:
                yield f"{many.words}: {lead or 'the '}one with the {extreme} {amount}"
            elif event and not lead:
                yield f"{extreme} {event} {one.words}"
            else:
                has = "that has" if one.whose or " with " in one.words else "with"
                yield f"{lead}{one.words} {has} the {extreme} {amount}"

    def _list_wanted(self) -> list[str]:
        """Name what a lookup asks for: of what is counted, the number."""
        return [
            f"number of {name_amount(column, self.columns)}"
            if find_kind(column, self.columns) == "number"
            else name_column_with_unit(column, self.columns)
            for column in self.query.projection
        ]

    @property
    def _more(self) -> str:
        """What one of two has: the higher score, more seats."""
        extreme = name_extreme(self.query, self.columns)
        article = "" if extreme in ("more", "fewer") else "the "
        return f"{article}{extreme} {name_amount(self.query.ranked_by, self.columns)}"

    @property
    def _wanted(self) -> str:
        column, noun = self.query.projection[0], self.describer.name(self.asked)
        words = name_column_with_unit(column, self.columns)
        # `the numbers of all flights` would be something else.
        prefixed = words in WEAK and self.query.measure and noun == name_table(self.asked, self.columns)
        return f"{noun} {words}" if prefixed else words

    @property
    def _is_named(self) -> bool:
        return name_column(self.query.projection[0], self.columns).split()[-1] in NAMES

    @property
    def _is_titled(self) -> bool:
        return name_column(self.query.projection[0], self.columns).split()[-1] == "title"

    @property
    def _is_person(self) -> bool:
        return name_table(self.asked, self.columns).split()[-1] in PEOPLE

    def _find_owner(self) -> str:
        """Return the only table joined to the asked one, if the asked one's rows belong to its rows."""
        ends = [relation.ends for relation in self.describer.relations]
        own = [name for name in self.query.placeholders if table_of(name) == self.asked]
        return ends[0][0] if len(ends) == 1 and ends[0][1] == self.asked and not own else ""


def list_wordings(
    query: Query, columns: Sequence[Column], form: str, circumstance: str, opening: str
) -> list[str]:
    """List the wordings of a query: fragments of a form, or a circumstance with a question after it."""
    phrasing = Phrasing(query, columns)
    if not circumstance:
        return phrasing.list_fragments(form)
    return [
        f"{text} {question}" for text, question in product([circumstance], phrasing.list_questions(opening))
    ]
