"""Compose the ways to word a query, for a model that picks one: a small one words it no better by itself.

A query is described along its joins, from what is asked about to what is given: the film whose director is
..., the genre of the film ... Every wording names all that is given, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from tasks.databases.columns import Column
from tasks.grammar.construct.measured_words import list_bounds, name_amount, name_extreme
from tasks.grammar.construct.measures import is_pair
from tasks.grammar.construct.names import (
    NAMES,
    make_plural,
    name_column,
    name_column_with_unit,
    name_table,
)
from tasks.grammar.construct.queries import Query, comparison_of, table_of
from tasks.grammar.construct.verbalisation import Relation, list_used_relations

PEOPLE = frozenset(["person", "employee", "member", "customer", "doctor", "player", "author", "student"])
TAKES_NOUN = ("me", "know", "up", "out")
"""Last words of openings after which a noun may stand: could you tell me the runtime."""


@dataclass(frozen=True)
class Style:
    """One of the ways to attach what is given."""

    whose: bool
    """`whose director is X`, else `with the director X`."""
    called: bool = False
    """`the film called X`, else `the film X`."""


STYLES = (
    Style(whose=True),
    Style(whose=False),
    Style(whose=True, called=True),
    Style(whose=False, called=True),
)


@dataclass
class Phrasing:
    """A query with the words for its tables."""

    query: Query
    columns: Sequence[Column]
    relations: Sequence[Relation] = field(init=False)
    asked: str = field(init=False)
    """The table that is asked about."""

    def __post_init__(self) -> None:
        self.relations = tuple(list_used_relations(self.query, self.columns))
        self.asked = table_of(self.query.projection[0])

    def list_questions(self, opening: str) -> list[str]:
        """List the questions that begin with these words; with a question word if they are empty."""
        found = []
        for style in STYLES:
            for direct, indirect, noun in self._list_sentences(style):
                if not opening:
                    found.append(f"{direct[0].upper()}{direct[1:]}?")
                    continue
                found.append(f"{opening} {indirect}?")
                if noun and opening.split()[-1] in TAKES_NOUN:
                    found.append(f"{opening} {noun}?")
        return list(dict.fromkeys(found))

    def list_fragments(self, form: str) -> list[str]:
        """List search phrases. form: what they begin with: wanted, given or asking."""
        found = []
        for style in STYLES:
            if form == "asking":
                found += [direct for direct, _, _ in self._list_sentences(style)]
            else:
                found += self._list_fragments(style, given_first=form == "given")
        return list(dict.fromkeys(found))

    def _list_sentences(self, style: Style) -> Iterator[tuple[str, str, str]]:
        """List questions, the same in indirect speech, and what they ask for as a noun, if it has one."""
        query, column = self.query, self.query.projection[0]
        one, many = self._describe(self.asked, style), self._describe(self.asked, style, plural=True)
        name = name_column_with_unit(column, self.columns)
        named = name_column(column, self.columns).split()[-1] in NAMES
        if query.measure == "count":
            yield f"how many {many} are there", f"how many {many} there are", f"the number of {many}"
            if owner := self._find_owner():
                plural, has = make_plural(self._name(self.asked)), self._describe(owner, style)
                yield f"how many {plural} does the {has} have", f"how many {plural} the {has} has", ""
        elif query.measure == "average":
            what = f"average {name} of the {many}"
            yield f"what is the {what}", f"what the {what} is", f"the {what}"
        elif query.measure in ("most", "least"):
            yield from self._list_extremes(style, one, many, named=named)
        elif query.measure == "list":
            if named:
                what = f"names of all {many}"
                yield f"what are the {what}", f"what the {what} are", f"the {what}"
                yield f"which {many} are there", f"which {many} there are", f"all the {many}"
            else:
                what = f"{make_plural(name)} of all {many}"
                yield f"what are the {what}", f"what the {what} are", f"the {what}"
        else:
            yield from self._list_lookups(one, named=named)

    def _list_lookups(self, one: str, *, named: bool) -> Iterator[tuple[str, str, str]]:
        nouns = [
            f"{name_column_with_unit(column, self.columns)} of the {one}" for column in self.query.projection
        ]
        if len(nouns) == 1 and named:
            who = "who" if self._is_person() else "what"
            yield f"{who} is the {one}", f"{who} the {one} is", f"the name of the {one}"
            if who == "what":
                yield f"what is the name of the {one}", f"what the {one} is called", f"the {one}"
            return
        first = [noun.removesuffix(f" of the {one}") for noun in nouns]
        what = f"{' and the '.join(first)} of the {one}"
        be = "is" if len(first) == 1 else "are"
        yield f"what {be} the {what}", f"what the {what} {be}", f"the {what}"
        if len(first) == 1:
            yield f"what {first[0]} does the {one} have", f"what {first[0]} the {one} has", ""

    def _list_extremes(
        self, style: Style, one: str, many: str, *, named: bool
    ) -> Iterator[tuple[str, str, str]]:
        query, column = self.query, self.query.projection[0]
        extreme, amount = name_extreme(query, self.columns), name_amount(query.ranked_by, self.columns)
        noun, called = self._name(self.asked), name_column_with_unit(column, self.columns)
        if query.ranked_by == column:
            what = f"{extreme} {called} of the {many}"
            yield f"what is the {what}", f"what the {what} is", f"the {what}"
        elif is_pair(query):
            of = list_bounds(noun, query.varied, self.columns)[0]
            yield (
                f"which of the {of} has the {extreme} {amount}",
                f"which of the {of} has the {extreme} {amount}",
                "",
            )
            yield (
                f"of the {of}, which has the {extreme} {amount}",
                f"which has the {extreme} {amount}, of the {of}",
                "",
            )
        elif named:
            what = f"{noun} with the {extreme} {amount} among the {many}"
            yield f"which is the {what}", f"which {what.replace(' with the ', ' has the ', 1)}", f"the {what}"
            yield (
                f"which of the {many} has the {extreme} {amount}",
                f"which of the {many} has the {extreme} {amount}",
                "",
            )
        else:
            what = f"{called} of the {noun} with the {extreme} {amount} among the {many}"
            yield f"what is the {what}", f"what the {what} is", f"the {what}"

    def _list_fragments(self, style: Style, *, given_first: bool) -> Iterator[str]:
        query, column = self.query, self.query.projection[0]
        one, many = self._describe(self.asked, style), self._describe(self.asked, style, plural=True)
        name, noun = name_column_with_unit(column, self.columns), self._name(self.asked)
        named = name_column(column, self.columns).split()[-1] in NAMES
        if query.measure == "count":
            wanted, given = "number", many
        elif query.measure == "average":
            wanted, given = f"average {name}", many
        elif query.measure == "list":
            wanted, given = ("all" if named else f"{make_plural(name)}"), many
        elif query.measure in ("most", "least"):
            extreme, amount = name_extreme(query, self.columns), name_amount(query.ranked_by, self.columns)
            given = list_bounds(noun, query.varied, self.columns)[0] if is_pair(query) else many
            if query.ranked_by == column:
                wanted = f"{extreme} {name}"
            else:
                head = noun if named or is_pair(query) else f"{name} of the {noun}"
                wanted = f"{head} with the {extreme} {amount}"
            yield f"{given}: {wanted}" if given_first else f"{wanted} among {given}"
            return
        elif named and len(query.projection) == 1:
            rest = one.removeprefix(noun).strip()
            yield f"{rest.removeprefix('of the ').removeprefix('of ')}: {noun}" if given_first else one
            if not given_first:
                yield f"name of the {one}"
            return
        else:
            wanted = " and ".join(name_column_with_unit(each, self.columns) for each in query.projection)
            given = one
        if given_first:
            yield f"{given}: {'list' if wanted == 'all' else wanted}"
            if wanted not in ("all", "number"):
                yield f"{given}, {wanted}"
        else:
            yield f"all {given}" if wanted == "all" else f"{wanted} of {given}"
            if wanted == "all":
                yield f"list of {given}"
            elif query.measure != "count":
                yield f"{wanted} of the {given}"

    def _is_person(self) -> bool:
        return name_table(self.asked, self.columns).split()[-1] in PEOPLE

    def _name(self, table: str) -> str:
        """Name a table by its role for another one, if it has one: director, origin airport."""
        roles = [relation.noun for relation in self.relations if relation.ends[1] == table and relation.words]
        return roles[0] if roles else name_table(table, self.columns)

    def _find_owner(self) -> str:
        """Return the only table joined to the asked one, if the asked one's rows belong to its rows."""
        ends = [relation.ends for relation in self.relations]
        own = [name for name in self.query.placeholders if table_of(name) == self.asked]
        return ends[0][0] if len(ends) == 1 and ends[0][1] == self.asked and not own else ""

    def _describe(self, table: str, style: Style, origin: str = "", *, plural: bool = False) -> str:
        """Describe a table's row by all that is given of it, and of what it is joined to except `origin`."""
        own = [name for name in self.query.equal if table_of(name) == table and name not in self.query.varied]
        naming = [name for name in own if name_column(name, self.columns).split()[-1] in NAMES][:1]
        plural = plural and not (origin and naming)
        noun = self._name(table)
        noun = make_plural(noun) if plural else noun
        lead = f"{noun} called" if style.called and naming else noun
        parts = [f"{lead} [{naming[0]}]" if naming else noun]
        traits = [
            f"{name_column_with_unit(name, self.columns)} [{name}]" for name in own if name not in naming
        ]
        bounds = [name for name in self.query.varied if table_of(name) == table and not is_pair(self.query)]
        traits += list_bounds(noun, bounds, self.columns)[:1] if bounds else []
        whose: list[str] = []
        belongs: list[str] = []
        for relation in self.relations:
            owner, owned = relation.ends
            if owned == table and owner not in (origin, table):
                if further := self._describe_if_given(owner, style, table, plural=plural):
                    belongs.append(f"of the {further}")
            elif owner == table and owned not in (origin, table):
                whose += self._describe_owned(owned, style, table, traits)
        if traits:
            parts.append(f"with {' and '.join(traits)}")
        return " ".join([*parts, *belongs, *([" and ".join(whose)] if whose else [])])

    def _describe_owned(self, table: str, style: Style, origin: str, traits: list[str]) -> Iterator[str]:
        """Describe what a row refers to: as a further trait, or by `whose`."""
        whole = self._describe_if_given(table, style, origin)
        if not whole:
            return
        noun = self._name(table)
        given = [name for name in self.query.placeholders if table_of(name) == table]
        simple = len(given) == 1 and not comparison_of(given[0]) and not self._goes_on(table, origin)
        name = name_column_with_unit(given[0], self.columns) if given else ""
        is_name = bool(name) and name.split()[-1] in NAMES
        if simple and not style.whose:
            traits.append(f"the {noun} [{given[0]}]" if is_name else f"the {noun} {name} [{given[0]}]")
        elif simple:
            yield f"whose {noun} is [{given[0]}]" if is_name else f"whose {noun} has the {name} [{given[0]}]"
        else:
            yield f"whose {noun} is the {whole}" if whole != noun else ""

    def _goes_on(self, table: str, origin: str) -> bool:
        neighbours = {end for relation in self.relations if table in relation.ends for end in relation.ends}
        return any(self._describe_if_given(end, STYLES[0], table) for end in neighbours - {table, origin})

    def _describe_if_given(self, table: str, style: Style, origin: str, *, plural: bool = False) -> str:
        """Describe a table's row if anything is given of it, or of what it leads to."""
        reached, waiting = {table, origin}, [table]
        while waiting:
            current = waiting.pop()
            for relation in self.relations:
                if current in relation.ends:
                    new = [end for end in relation.ends if end not in reached]
                    reached.update(new)
                    waiting += new
        given = {table_of(name) for name in self.query.placeholders} & (reached - {origin})
        return self._describe(table, style, origin, plural=plural) if given else ""


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
