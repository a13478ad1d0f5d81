"""What a SQL template asks, said plainly by code: the model then only has to find good words for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.databases.columns import Column
from tasks.grammar.construct.names import NAMES, WEAK, name_column, name_relation, name_table, say_column
from tasks.grammar.construct.queries import Query, table_of


@dataclass(frozen=True)
class Relation:
    """How two tables of a query hang together."""

    ends: tuple[str, str]
    words: tuple[str, ...]
    """What tells it from others; empty where its name adds nothing."""
    noun: str
    """What the second table's row is to the first's: director, origin airport."""
    rivals: tuple[str, ...]
    """The words of other relations between the same two tables."""


@dataclass(frozen=True)
class Gloss:
    """A query in plain words."""

    wanted: tuple[str, ...]
    """`altitude in feet of the destination airport`"""
    given: tuple[str, ...]
    """`the flight with number [flights.flight_number]`: one a table, placeholders included."""
    ways: tuple[tuple[str, ...], ...]
    """How a text may bring each placeholder in: `flight number [flights.flight_number]`."""
    relations: tuple[Relation, ...]


def gloss_query(query: Query, columns: Sequence[Column]) -> Gloss:
    """Say in words what a query wants and what it is given."""
    relations = tuple(_find_used(query, columns))
    nouns = {each.ends[1]: each.noun for each in relations if each.words}
    tables = {table: nouns.get(table, name_table(table)) for table in query.tables}
    wanted = tuple(f"{say_column(each)} of the {tables[table_of(each)]}" for each in query.projection)
    of_table: defaultdict[str, list[str]] = defaultdict(list)
    for each in query.placeholders:
        of_table[table_of(each)].append(each)
    given = tuple(_say_given(tables[table], own) for table, own in of_table.items())
    ways = tuple(_list_ways(tables[table_of(each)], each) for each in query.placeholders)
    return Gloss(wanted, given, ways, relations)


def _list_ways(noun: str, placeholder: str) -> tuple[str, ...]:
    name = say_column(placeholder)
    if name.split()[-1] in NAMES:
        return (f"{noun} [{placeholder}]",)
    leads = [f"{noun} {name}", f"{noun} with {name}"] + [name] * (name not in WEAK)
    return tuple(f"{lead} [{placeholder}]" for lead in leads)


def _say_given(noun: str, placeholders: Sequence[str]) -> str:
    """Say what is known of one thing: its name right behind it, the rest by `with`."""
    names = [each for each in placeholders if name_column(each).split()[-1] in NAMES]
    others = [f"{say_column(each)} [{each}]" for each in placeholders if each not in names[:1]]
    named = f"the {noun}" + "".join(f" [{each}]" for each in names[:1])
    return f"{named} with {' and '.join(others)}" if others else named


def _find_used(query: Query, columns: Sequence[Column]) -> Iterator[Relation]:
    present, used = set(query.tables), {frozenset(pair) for pair in query.joins}
    every = find_relations(columns)
    for ends, keys in every:
        if not (
            {each.table for each in keys} | set(ends) <= present and all(_pair(each) in used for each in keys)
        ):
            continue
        words = tuple(name_relation(keys))
        noun = " ".join(words if len(keys) > 1 else (*words, name_table(ends[1])))
        rivals = {
            word for other, theirs in every if set(other) == set(ends) and theirs != keys
            for word in name_relation(theirs)
        }  # fmt: skip
        yield Relation(ends, words, noun, tuple(sorted(rivals - set(words))))


def find_relations(columns: Sequence[Column]) -> list[tuple[tuple[str, str], list[Column]]]:
    """List how tables hang together: by a foreign key, or through a table that only links two others."""
    keys: defaultdict[str, list[Column]] = defaultdict(list)
    for each in columns:
        if each.references:
            keys[each.table].append(each)
    telling = {each.table for each in columns if each.descriptive}
    relations: list[tuple[tuple[str, str], list[Column]]] = []
    for table, own in sorted(keys.items()):
        ends = [table_of(each.references or "") for each in own]
        if len(own) == 2 and len(set(ends)) == 2 and table not in telling:
            # The table whose name the link's name begins with is the one that has the other.
            first = sorted(zip(ends, own, strict=True), key=lambda pair: _stem(pair[0]) not in _stem(table))
            relations.append(((first[0][0], first[1][0]), [first[0][1], first[1][1]]))
        else:
            relations += [((table, end), [each]) for end, each in zip(ends, own, strict=True)]
    return relations


def _stem(table: str) -> str:
    return name_table(table).replace(" ", "")


def _pair(key: Column) -> frozenset[str]:
    return frozenset((key.id, key.references or ""))
