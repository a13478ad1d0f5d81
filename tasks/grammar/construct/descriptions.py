"""Write noun phrases that describe a row by given values, such as `the film directed by X`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tasks.databases.columns import Column
from tasks.english import make_plural
from tasks.grammar.construct.measured_words import describe_event, find_kind, list_bounds
from tasks.grammar.construct.measures import is_pair
from tasks.grammar.construct.names import (
    BELONGINGS,
    EVENTS,
    FEATURED,
    OF_MANY,
    PLACES,
    TIES,
    VERBS,
    is_name,
    is_participle,
    name_column,
    name_column_with_unit,
    name_table,
)
from tasks.grammar.construct.queries import Query, comparison_of, table_of
from tasks.grammar.construct.verbalisation import TableRelation, find_scope, list_used_relations

BARE = re.compile(r"(?:between|from|of|on|(?:not )?(?:after|before)) \[")
"""Matches a time phrase without a participle, such as `between [x]`.
A time phrase without a participle cannot follow `is`."""


@dataclass(frozen=True)
class Described:
    """A noun for a row, and the phrases that describe the row."""

    noun: str
    """The noun for the row, with the row's name and scope (if any): `films in the catalogue`."""
    ties: tuple[str, ...] = ()
    """Phrases such as `directed by [x]`, `released in [y]`, `with the genre [g]`."""
    traits: tuple[str, ...] = ()
    """Properties that follow `with`, such as `content rating [x]`."""
    belongs: tuple[str, ...] = ()
    """Phrases for the row's owners, such as `of the film [x]`."""
    whose: tuple[str, ...] = ()
    """Clauses such as `whose origin airport is [x]`."""
    within: str = ""
    """The scope, such as `in the catalogue`, if it belongs to another table's rows; otherwise empty."""

    @property
    def rest(self) -> str:
        """The description's words after the noun."""
        # Participles come directly after the noun, and phrases with a preposition after the participles.
        ties = sorted(self.ties, key=lambda tie: not is_participle(tie))
        events = [tie for tie in ties if is_participle(tie)]
        others = [tie for tie in ties if not is_participle(tie)]
        held = [tie.removeprefix("with ") for tie in others if tie.startswith("with ")] + [*self.traits]
        others = [tie for tie in others if not tie.startswith("with ")]
        traits = [f"with {' and '.join(held)}"] if held else []
        parts = [" and ".join(events), *others, *traits, *self.belongs, " and ".join(self.whose), self.within]
        return " ".join(filter(None, parts))

    @property
    def words(self) -> str:
        """The description: the noun and all phrases."""
        return f"{self.noun} {self.rest}".strip()

    def say(self, *, plural: bool = False) -> str:
        """Return a clause with a verb before the last property: `film directed by [x] has the genre [g]`.

        Returns an empty string if the clause would be ambiguous.
        """
        events = [tie for tie in (*self.ties, *self.belongs) if is_participle(tie)]
        others = [tie for tie in (*self.ties, *self.belongs) if not is_participle(tie)]
        others += [f"with {trait}" for trait in self.traits]
        lead = f"{self.noun} {' and '.join(events)}".strip()
        if self.whose or len(others) > 1 or not (events or others) or any(map(BARE.match, others)):
            return ""
        if not others:
            past = any(tie.split()[0] in EVENTS.values() for tie in events)
            be = (("is", "are"), ("was", "were"))[past][plural]
            said = f"{self.noun} {be} {' and '.join(events)}"
        elif others[0].startswith("with "):
            held = others[0].removeprefix("with ")
            verbs = ("features", "feature") if held.startswith(FEATURED) else ("has", "have")
            said = f"{lead} {verbs[plural]} {held}"
        elif others[0] in self.belongs:
            return ""
        else:
            said = f"{lead} {'are' if plural else 'is'} {others[0]}"
        return f"{said} {self.within}".strip()


@dataclass
class Describer:
    """Writes noun phrases for the tables of a query."""

    query: Query
    columns: Sequence[Column]
    called: bool = False
    """Whether to write `the film called X` instead of `the film X`."""
    relations: Sequence[TableRelation] = field(init=False)
    scope: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.relations = tuple(list_used_relations(self.query, self.columns))
        self.scope = find_scope(self.query, self.columns)

    def name(self, table: str) -> str:
        """Return the noun for a table's row: the role in a relation, such as director, or the table name."""
        roles = [
            relation.noun for relation in self.relations if relation.tables[1] == table and relation.words
        ]
        return roles[0] if roles else name_table(table, self.columns)

    def describe(self, table: str, origin: str = "", *, plural: bool = False) -> Described:
        """Describe a row of `table` by the query's placeholders for this row and for joined rows.

        Rows of the table `origin` are not described.
        """
        own = [name for name in self.query.equal if table_of(name) == table]
        called = [(name, name_column(name, self.columns)) for name in own]
        naming = [name for name, words in called if is_name(words) or words.split()[-1] == "number"][:1]
        plural = plural and not (origin and naming)
        noun = make_plural(self.name(table)) if plural else self.name(table)
        ties: list[str] = []
        traits: list[str] = []
        for name in own:
            if name not in naming:
                self._add_trait(name, ties, traits)
        bounds = [name for name in self.query.varied if table_of(name) == table and not is_pair(self.query)]
        ties += list_bounds(noun, bounds, self.columns)[:1] if bounds else []
        whose: list[str] = []
        belongs: list[str] = []
        for relation in self.relations:
            owner, owned = relation.tables
            if owned == table and owner not in (origin, table):
                # For a measure, the owners are plural: many flights have the same airport.
                many = plural or bool(self.query.measure)
                further = self._describe_if_given(owner, table, plural=many)
                belongs += [self._tie_to_owner(relation, further, plural=many)] if further else []
            elif owner == table and owned not in (origin, table):
                self._add_owned(owned, table, ties, whose)
        head = noun + "".join(f" {self._call(name)}" for name in naming)
        scoped, within = self.scope if not origin else ("", "")
        if scoped == table:
            head, within = f"{head} {within}", ""
        return Described(head, tuple(ties), tuple(traits), tuple(belongs), tuple(whose), within)

    def is_given(self, table: str, origin: str) -> bool:
        """Return whether the query has a placeholder in `table` or in a table that joins connect to it.

        Joins that pass through the table `origin` do not count.
        """
        reached, waiting = {table, origin}, [table]
        while waiting:
            current = waiting.pop()
            for relation in self.relations:
                if current in relation.tables:
                    new = [end for end in relation.tables if end not in reached]
                    reached.update(new)
                    waiting += new
        return bool({table_of(name) for name in self.query.placeholders} & (reached - {origin}))

    def _tie_to_owner(self, relation: TableRelation, further: str, *, plural: bool) -> str:
        owner, table = relation.tables
        role = self.name(table)
        if further.startswith(make_plural(self.name(owner))):
            return f"{OF_MANY.get(role, 'of')} {further}"
        # If an owner may have several such rows, the database may list only some of the rows.
        listed = plural or (relation.linked and role not in VERBS)
        return f"{'listed for' if listed else BELONGINGS.get(role, 'of')} the {further}"

    def _call(self, name: str) -> str:
        words = name_column(name, self.columns).split()
        if words[-1] == "number":
            return f"with the {' '.join(words)} [{name}]"
        return f"called [{name}]" if self.called else f"[{name}]"

    def _add_trait(self, name: str, ties: list[str], traits: list[str]) -> None:
        words = name_column_with_unit(name, self.columns)
        timed = find_kind(name, self.columns) == "time"
        event = describe_event(name, self.columns)
        preposition = "on" if "date" in (words.split()[0], words.split()[-1]) else "in"
        if timed and event:
            ties.append(f"{event} {preposition} [{name}]")
        elif timed and words in ("date", "year"):
            ties.append(f"{'on' if words == 'date' else 'of'} [{name}]")
        elif words.split()[-1] == "rating":
            ties.append(f"rated [{name}]")
        elif words in PLACES:
            ties.append(f"in the {words} [{name}]")
        else:
            traits.append(f"{words} [{name}]")

    def _add_owned(self, table: str, origin: str, ties: list[str], whose: list[str]) -> None:
        """Append to `ties` or `whose` a description of the row that a foreign key refers to."""
        whole = self._describe_if_given(table, origin)
        if not whole:
            return
        noun = self.name(table)
        given = [name for name in self.query.placeholders if table_of(name) == table]
        simple = len(given) == 1 and not comparison_of(given[0]) and not self._goes_on(table, origin)
        name = name_column_with_unit(given[0], self.columns) if given else ""
        if not simple:
            whose += [f"whose {noun} is the {whole}"] if whole != noun else []
        elif is_name(name):
            ties.append(f"{TIES.get(noun, f'with the {noun}')} [{given[0]}]")
        else:
            ties.append(f"with the {noun} {name} [{given[0]}]")

    def _goes_on(self, table: str, origin: str) -> bool:
        neighbours = {
            end for relation in self.relations if table in relation.tables for end in relation.tables
        }
        return any(self.is_given(end, table) for end in neighbours - {table, origin})

    def _describe_if_given(self, table: str, origin: str, *, plural: bool = False) -> str:
        if not self.is_given(table, origin):
            return ""
        return self.describe(table, origin, plural=plural).words
