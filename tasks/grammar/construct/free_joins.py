"""Describe user-written SQL by the columns that it names and the foreign keys that it joins along.

For one SELECT that joins tables along foreign keys, this module can determine which rows an answer needs and
whether documents state the values of these rows. For SQL of any other shape, this is not possible.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tasks.databases.columns import Column
from tasks.grammar.construct.free_reading import find_column, list_sources, parse_free
from tasks.grammar.construct.queries import FreeQuery, Query


def describe_joins(query: Query, schema: Sequence[Column]) -> Query:
    """Convert free-form SQL to a plain query that projects the columns named outside the joins.

    Returns the query unchanged if it is not free-form, if its SQL has several SELECTs or reads a table twice,
    or if a join is not an inner join along one foreign key.
    """
    if not isinstance(query, FreeQuery):
        return query
    select = parse_free(query.sql)
    if not isinstance(select, exp.Select) or len(list(select.find_all(exp.Select))) > 1:
        return query
    joins = select.args.get("joins") or []
    pairs = [_read_pair(join, schema) for join in joins]
    if len(set(list_sources(select, schema).values())) != len(joins) + 1 or None in pairs:
        return query
    for join in joins:
        join.set("on", None)
    found = (find_column(node, schema) for node in select.find_all(exp.Column))
    named = {column[0] for column in found if column is not None}
    return Query(tuple(sorted(named)), tuple(sorted(pair for pair in pairs if pair)), ())


def _read_pair(join: exp.Join, schema: Sequence[Column]) -> tuple[str, str] | None:
    """Return the two columns of an inner join along a foreign key, sorted; None for any other join."""
    test = join.args.get("on")
    if join.side or (join.kind and join.kind != "INNER") or not isinstance(test, exp.EQ):
        return None
    sides = [side for side in (test.this, test.expression) if isinstance(side, exp.Column)]
    found = [column[0] for side in sides if (column := find_column(side, schema))]
    keys = {(column.id, column.references) for column in schema}
    if len(found) != 2 or not {(found[0], found[1]), (found[1], found[0])} & keys:
        return None
    first, second = sorted(found)
    return first, second
