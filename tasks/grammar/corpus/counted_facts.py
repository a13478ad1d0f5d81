"""Facts about all entities of a table together: how many films the database has with the genre Drama."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from sqlglot import exp

from tasks.artifacts.rows import make_id
from tasks.grammar.construct.queries import DIALECT, FilledSql, Query, build_select
from tasks.grammar.corpus.entities import COLLECTION, ProfileFact
from tasks.grammar.corpus.entity_tables import Attribute, EntityTable, Key
from tasks.grammar.corpus.plain_patterns import make_plural

LEAST_COUNT = 10
"""A smaller number is not told: a question may be about the rows behind it."""
Totals = Mapping[tuple[Attribute, str], int]
"""(attribute, value) -> the number of rows of the entity table that have it."""


def count_values(
    table: EntityTable, values_by_key: Mapping[Key, Sequence[tuple[Attribute, Sequence[str]]]]
) -> Totals:
    """Count the rows of each value of an attribute in words, or of a year."""
    types = {column.id: column.type for column in table.schema}
    return Counter(
        (attribute, value)
        for attributes in values_by_key.values()
        for attribute, values in attributes
        if types[attribute.column] == "text" or _is_year(attribute, types[attribute.column])
        for value in values
        if attribute.column != table.naming
    )


def choose_counts(
    table: EntityTable,
    attributes: Sequence[tuple[Attribute, Sequence[str]]],
    totals: Totals,
    least: int,
    key: tuple[object, ...],
) -> list[tuple[Attribute, str, int]]:
    """Choose a value of each attribute that more than `least` rows share, in an order seeded by `key`."""
    if len(table.primary) > 1:
        return []
    found = []
    for attribute, values in attributes:
        shared = [(value, totals.get((attribute, value), 0)) for value in values]
        if many := [(value, total) for value, total in shared if total > least]:
            value, total = min(many, key=lambda one: make_id(*key, attribute.column, one[0]))
            found.append((attribute, value, total))
    return sorted(found, key=lambda one: make_id(*key, one[0].column, one[0].joins))


def make_count(
    table: EntityTable, kind: str, profile: str, attribute: Attribute, value: str, total: int
) -> ProfileFact:
    """Make the fact that so many rows have a value, with the query that counts them."""
    column = next(column for column in table.schema if column.id == attribute.column)
    typed = int(value) if column.type == "integer" else value
    query = Query(table.primary, attribute.joins, (attribute.column,))
    rows = build_select(query, {attribute.column: typed}).subquery("found")
    sql = exp.select(exp.Count(this=exp.Star())).from_(rows).sql(dialect=DIALECT)
    words = f"number of {make_plural(kind)} with the {attribute.words} {value}"
    row = make_id("count", profile, attribute.column, attribute.joins, value)
    return ProfileFact(row, COLLECTION, words, (str(total),), sql)


def write_fact_query(table: EntityTable, attribute: Attribute, key: Key) -> str:
    """Write the query whose result is the values of an attribute of one row."""
    values = {column: value for column, value in zip(table.primary, key, strict=True) if value is not None}
    query = Query((attribute.column,), attribute.joins, tuple(sorted(table.primary)))
    return _prepare(query).write([values[column] for column in query.placeholders])


@lru_cache(maxsize=1024)
def _prepare(query: Query) -> FilledSql:
    return FilledSql(query)


def _is_year(attribute: Attribute, type_name: str) -> bool:
    return type_name == "integer" and attribute.words.split()[-1] == "year"
