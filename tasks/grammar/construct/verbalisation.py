"""Describe a SQL template's question in phrases, so that a model only has to choose the phrasing.

Some questions must state their scope, such as the films in the catalogue rather than all films. Otherwise the
answer may be wrong, because it is based only on the database's rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tasks.databases.columns import Column
from tasks.grammar.construct.measured_words import list_bounds, verbalise_measure
from tasks.grammar.construct.names import (
    WEAK,
    is_name,
    name_column,
    name_column_with_unit,
    name_relation,
    name_role,
    name_table,
    tells_year,
)
from tasks.grammar.construct.queries import FreeQuery, Query, column_of, comparison_of, table_of


@dataclass(frozen=True)
class TableRelation:
    """The phrases for the relation between two tables of a query."""

    tables: tuple[str, str]
    words: tuple[str, ...]
    """The words that distinguish this relation from other relations, or an empty tuple."""
    noun: str
    """The role of the second table's row, such as director."""
    rivals: tuple[str, ...]
    """The words of other relations between the same two tables."""
    contested: bool = False
    """Whether there is another relation between the two tables."""
    linked: bool = False
    """Whether a link table joins the two tables (a many-to-many relation)."""


@dataclass(frozen=True)
class Verbalisation:
    """The phrases that describe a query."""

    wanted: tuple[str, ...]
    """The phrases for the projected columns: `altitude in feet of the destination airport`."""
    given: tuple[str, ...]
    """One phrase for the given values of each table: `the flight with number [flights.flight_number]`."""
    phrases: tuple[tuple[str, ...], ...]
    """The possible phrases for each placeholder: `flight number [flights.flight_number]`. Both placeholders
    of a range or pair share one phrase."""
    relations: tuple[TableRelation, ...]
    required: tuple[frozenset[str], ...] = ()
    """Sets of alternatives, such as {"how many", "number", "count"}.

    A text must contain an element of each set.
    """
    named: tuple[str, ...] = ()
    """The columns that a text must name; empty for a count, because its text names the counted rows."""

    @property
    def relation_words(self) -> tuple[str, ...]:
        """The distinguishing words of all relations."""
        return tuple(word for relation in self.relations for word in relation.words)


def verbalise_query(query: Query, columns: Sequence[Column]) -> Verbalisation:
    """Return the phrases for a query's projected columns and given values."""
    relations = tuple(list_used_relations(query, columns))
    nouns = {relation.tables[1]: relation.noun for relation in relations if relation.words}
    tables = {table: nouns.get(table, name_table(table, columns)) for table in query.tables}
    by_table: defaultdict[str, list[str]] = defaultdict(list)
    for column in query.placeholders:
        by_table[table_of(column)].append(column)
    introduced: list[tuple[str, ...]] = [(name,) for name in query.equal if name not in query.varied]
    if query.varied:
        introduced.append(query.varied)
    measured = verbalise_measure(query, tables[table_of(query.projection[0])], columns)
    _, scope = find_scope(query, columns)
    wanted = measured.wanted or tuple(
        f"{name_column_with_unit(column, columns)} of the {tables[table_of(column)]}"
        for column in query.projection
    )
    return Verbalisation(
        tuple(f"{words} {scope}".strip() for words in wanted),
        tuple(_describe_given(tables[table], names, columns) for table, names in by_table.items()),
        tuple(_list_phrases(tables[table_of(names[0])], names, columns) for names in introduced),
        relations,
        (*measured.required, *([frozenset([list_scope_words(scope)])] if scope else [])),
        measured.named,
    )


def _list_phrases(noun: str, placeholders: Sequence[str], columns: Sequence[Column]) -> tuple[str, ...]:
    placeholder = placeholders[0]
    if comparison_of(placeholders[-1]):
        return list_bounds(noun, placeholders, columns)
    name = name_column_with_unit(placeholder, columns)
    if is_name(name):
        return (f"{noun} [{placeholder}]",)
    leads = [f"{noun} {name}", f"{noun} with {name}"] + [name] * (name not in WEAK)
    return tuple(f"{lead} [{placeholder}]" for lead in leads)


def _describe_given(noun: str, placeholders: Sequence[str], columns: Sequence[Column]) -> str:
    """Return the phrase that describes a row by its placeholders.

    The name follows the noun, other values follow `with`, and bounds come last.
    """
    compared = [column for column in placeholders if comparison_of(column)]
    if any(comparison_of(column) == "other" for column in compared):
        return f"the {list_bounds(noun, placeholders, columns)[0]}"
    plain = [column for column in placeholders if column not in compared]
    names = [column for column in plain if is_name(name_column(column, columns))]
    others = [
        f"{name_column_with_unit(column, columns)} [{column}]" for column in plain if column not in names[:1]
    ]
    named = f"the {noun}" + "".join(f" [{column}]" for column in names[:1])
    if others:
        named += f" with {' and '.join(others)}"
    return " ".join([named, *(list_bounds(noun, compared, columns)[:1] if compared else [])])


def list_used_relations(query: Query, columns: Sequence[Column]) -> Iterator[TableRelation]:
    """Yield the relations that join a query's tables."""
    present, joined = set(query.tables), {frozenset(pair) for pair in query.joins}
    every = find_relations(columns)
    for pair, keys in every:
        tables = {key.table for key in keys} | set(pair)
        if not (tables <= present and all(_join_pair(key) in joined for key in keys)):
            continue
        words = tuple(name_relation(keys))
        others = [
            name_relation(other_keys)
            for other_pair, other_keys in every
            if set(other_pair) == set(pair) and other_keys != keys
        ]
        rivals = tuple(sorted({word for other in others for word in other}.difference(words)))
        role = name_role(keys, pair[1], columns)
        yield TableRelation(pair, words, role, rivals, bool(others), linked=len(keys) > 1)


def find_relations(columns: Sequence[Column]) -> list[tuple[tuple[str, str], list[Column]]]:
    """List the relations of a schema as (the two tables, the foreign keys).

    A relation is a foreign key, or a link table between two other tables.
    """
    keys: defaultdict[str, list[Column]] = defaultdict(list)
    for column in columns:
        if column.references:
            keys[column.table].append(column)
    descriptive = {column.table for column in columns if column.descriptive}
    relations: list[tuple[tuple[str, str], list[Column]]] = []
    for table, table_keys in sorted(keys.items()):
        pair = [table_of(key.references or "") for key in table_keys]
        pairs = list(zip(pair, table_keys, strict=True))
        if len(table_keys) == 2 and len(set(pair)) == 2 and table not in descriptive:
            # The owner is the table with which the link table's name begins: films for film_directors.
            (owner, owner_key), (owned, owned_key) = sorted(
                pairs, key=lambda pair: not _join_words(table).startswith(_join_words(pair[0]))
            )
            relations.append(((owner, owned), [owner_key, owned_key]))
        else:
            relations += [((table, end), [key]) for end, key in pairs]
    return relations


def _join_words(table: str) -> str:
    return name_table(table).replace(" ", "")


def _join_pair(key: Column) -> frozenset[str]:
    return frozenset((key.id, key.references or ""))


def find_scope(query: Query, columns: Sequence[Column]) -> tuple[str, str]:
    """Return the scope that a query's question must state (table, words), or two empty strings.

    A lookup by a name and a date or year has the same answer in any database. Without a date or year, an
    entity outside the database may have the same name. A measure may depend on rows outside the database. For
    a measure with a given date, the words are the table's `dated_scope`, which may be empty.

    A table does not need its own scope if another scoped table of the query references it. For example, all
    airports of the flights in the records are also in the records. No scope is necessary if the primary key
    is given, or if the table has no dates or years and the name is given.
    """
    if isinstance(query, FreeQuery):
        return "", ""  # the author decides whether the texts of free-form SQL state a scope
    asked = table_of(query.projection[0])
    scopes = {column.table: (column.scope, column.dated_scope) for column in columns if column.scope}
    limiting = _list_limiting(scopes.keys() & set(query.tables), columns)
    table = asked if asked in limiting else min(limiting, default="")
    if not table:
        return "", ""
    known = {name for name in map(column_of, query.placeholders) if table_of(name) == table}
    dates = {column.id for column in columns if column.table == table and column.type == "date"}
    years = {column.id for column in columns if column.table == table and tells_year(column)}
    keys = {column.id for column in columns if column.table == table and column.primary_key}
    timeless = not dates | years and any(is_name(name_column(name, columns)) for name in known)
    given = {name for name in query.equal if table_of(name) == table}
    if timeless or (len(keys) == 1 and keys <= given):
        return "", ""
    own = [name_column(name, columns) for name in given]
    named = any(is_name(words) or words.split()[-1] == "number" for words in own)
    told = dates | years if named and not query.measure else dates
    always, dated = scopes[table]
    words = always if not told & known else dated if query.measure else ""
    return (table, words) if words else ("", "")


def _list_limiting(tables: AbstractSet[str], columns: Sequence[Column]) -> AbstractSet[str]:
    """Return the tables in `tables` that no other table in `tables` references.

    If every table is referenced, as in a cycle, return all tables.
    """
    keys = [column for column in columns if column.references and column.table in tables]
    referenced = {
        table_of(key.references or "") for key in keys if table_of(key.references or "") != key.table
    }
    return tables - referenced or tables


def list_scope_words(scope: str) -> str:
    """Return a scope's lower-case words without punctuation, for comparison with texts."""
    return " ".join(re.findall(r"[^\W\d_]+", scope.lower()))
