"""GRAMMAR's queries (select, project, join, with placeholders for values) and the SQL written from them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tasks.artifacts.rows import make_id
from tasks.databases.columns import split_column_id

DIALECT = "sqlite"
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset([
    "all", "alter", "and", "as", "asc", "between", "by", "case", "check", "collate", "column",
    "constraint", "create", "cross", "default", "delete", "desc", "distinct", "drop", "else", "end",
    "except", "exists", "false", "for", "foreign", "from", "full", "grant", "group", "having", "in",
    "index", "inner", "insert", "intersect", "into", "is", "join", "key", "left", "like", "limit",
    "natural", "not", "null", "offset", "on", "or", "order", "outer", "primary", "references", "right",
    "select", "set", "table", "then", "to", "transaction", "true", "union", "unique", "update", "user",
    "using", "values", "when", "where", "with",
])  # fmt: skip


@dataclass(frozen=True)
class Query:
    """The meaning of a SQL template, independent of how it is written. Columns are named `table.column`."""

    projection: tuple[str, ...]
    joins: tuple[tuple[str, str], ...]
    """Pairs of columns that must be equal, each pair sorted, the pairs sorted."""
    placeholders: tuple[str, ...]
    """The columns that are compared with a given value, sorted."""

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables, sorted."""
        names = [*self.projection, *self.placeholders, *(side for pair in self.joins for side in pair)]
        return tuple(sorted({table_of(name) for name in names}))

    @property
    def id(self) -> str:
        """Hash of the canonical form: projection, joins and placeholders."""
        return make_id("sql_template", sorted(self.projection), self.joins, self.placeholders)


def table_of(column: str) -> str:
    """Return the table of a column's id."""
    return split_column_id(column)[0]


def write_template(query: Query) -> str:
    """Write a query's SQL with `'[table.column]'` in the places of values."""
    return build_select(query, {column: f"[{column}]" for column in query.placeholders}).sql(dialect=DIALECT)


def write_filled(query: Query, values: Mapping[str, str | int | float]) -> str:
    """Write a query's SQL with values filled in: text quoted and escaped, numbers as numbers."""
    return build_select(query, values).sql(dialect=DIALECT)


class FilledSql:
    """`write_filled` for one query and millions of values, without building a syntax tree for each."""

    def __init__(self, query: Query) -> None:
        marks = {name: f"\0{number}\0" for number, name in enumerate(query.placeholders)}
        self._pieces = re.split("'\0(\\d+)\0'", write_filled(query, marks))

    def write(self, values: Sequence[str | int | float]) -> str:
        """Write the query's SQL with these values, in the order of its placeholders."""
        pieces = self._pieces
        return "".join(
            write_literal(values[int(piece)]) if number % 2 else piece for number, piece in enumerate(pieces)
        )


def write_literal(value: str | int | float) -> str:
    """Write a value as a SQL literal: text quoted and escaped, numbers as numbers."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value) if isinstance(value, int) else exp.convert(value).sql(dialect=DIALECT)


def write_combinations(query: Query) -> str:
    """Write one SQL query that returns every combination of placeholder values with its answer.

    The placeholder columns are projected before the answer's columns and define the order. So the rows of
    a combination are adjacent, and a combination without an answer has no row.
    """
    columns = [quote_column(column) for column in (*query.placeholders, *query.projection)]
    select = exp.select(*columns).distinct()
    select = _join_tables(select, query)
    for column in query.placeholders:
        select = select.where(exp.Not(this=exp.Is(this=quote_column(column), expression=exp.Null())))
    return select.order_by(*(column.copy() for column in columns)).sql(dialect=DIALECT)


def build_select(query: Query, values: Mapping[str, str | int | float]) -> exp.Select:
    """Build the syntax tree of a query with these values in the WHERE clause."""
    select = exp.select(*(quote_column(column) for column in query.projection)).distinct()
    select = _join_tables(select, query)
    for column in query.placeholders:
        select = select.where(exp.EQ(this=quote_column(column), expression=exp.convert(values[column])))
    return select


def quote_column(name: str) -> exp.Column:
    """Build a column expression, quoted only if the name needs it."""
    table, column = split_column_id(name)
    return exp.column(quote_name(column), table=quote_name(table))


def quote_name(name: str) -> exp.Identifier:
    """Build an identifier, quoted only if it needs quotes."""
    return exp.to_identifier(name, quoted=needs_quotes(name))


def needs_quotes(name: str) -> bool:
    """Return whether a name must be quoted: a reserved word, or not a plain identifier."""
    return not PLAIN.fullmatch(name) or name.lower() in RESERVED


def _join_tables(select: exp.Select, query: Query) -> exp.Select:
    """Add FROM and the joins, starting from the first projected column's table."""
    first = table_of(query.projection[0])
    select = select.from_(exp.Table(this=quote_name(first)))
    for table, conditions in order_joins(query, first):
        equalities = [
            exp.EQ(this=quote_column(left), expression=quote_column(right)) for left, right in conditions
        ]
        select = select.join(exp.Table(this=quote_name(table)), on=exp.and_(*equalities))
    return select


def order_joins(query: Query, first: str) -> Sequence[tuple[str, list[tuple[str, str]]]]:
    """Order the joins so that each table joins one before it: (table, its join conditions)."""
    seen, steps, queue = {first}, [], deque([first])
    while queue:
        current = queue.popleft()
        for table in sorted(
            {table_of(b) for a, b in _both_directions(query) if table_of(a) == current} - seen
        ):
            seen.add(table)
            queue.append(table)
            conditions = [
                (a, b)
                for a, b in _both_directions(query)
                if table_of(b) == table and table_of(a) in seen - {table}
            ]
            steps.append((table, sorted(conditions)))
    return steps


def _both_directions(query: Query) -> list[tuple[str, str]]:
    return [*query.joins, *((b, a) for a, b in query.joins)]
