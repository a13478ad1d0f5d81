"""The one kind of query that GRAMMAR knows: select, project, join, with placeholders for values."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tasks.artifacts.rows import make_id

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
    """What a SQL template asks, in no particular clothes. Columns are named `table.column`."""

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
        """Hash of the canonical form: another projection, predicate or join is another query."""
        return make_id("sql_template", sorted(self.projection), self.joins, self.placeholders)


def table_of(column: str) -> str:
    """Give the table's name of a `table.column`."""
    return column.rpartition(".")[0]


def write_template(query: Query) -> str:
    """Write a query with `'[table.column]'` where values go."""
    return build_select(query, {each: f"[{each}]" for each in query.placeholders}).sql(dialect=DIALECT)


def write_filled(query: Query, values: Mapping[str, str | int | float]) -> str:
    """Write a query with values in their places: text quoted and escaped, numbers as numbers."""
    return build_select(query, values).sql(dialect=DIALECT)


class FilledSql:
    """A query whose values vary: `write_filled` for millions of them, without a tree for each."""

    def __init__(self, query: Query) -> None:
        marks = {name: f"\0{number}\0" for number, name in enumerate(query.placeholders)}
        self._pieces = re.split("'\0(\\d+)\0'", write_filled(query, marks))

    def write(self, values: Sequence[str | int | float]) -> str:
        """Write the query with these values, in the order of its placeholders."""
        pieces = self._pieces
        return "".join(
            write_literal(values[int(piece)]) if number % 2 else piece for number, piece in enumerate(pieces)
        )


def write_literal(value: str | int | float) -> str:
    """Write a value as SQL does: text quoted and escaped, numbers as numbers."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value) if isinstance(value, int) else exp.convert(value).sql(dialect=DIALECT)


def write_combinations(query: Query) -> str:
    """Write the one query that yields every combination of values together with its answer.

    The compared columns move into the projection, before the answer's columns, and give the order;
    so rows of one combination follow each other, and a combination without an answer has no row.
    """
    columns = [quote_column(each) for each in (*query.placeholders, *query.projection)]
    select = exp.select(*columns).distinct()
    select = _join_tables(select, query)
    for each in query.placeholders:
        select = select.where(exp.Not(this=exp.Is(this=quote_column(each), expression=exp.Null())))
    return select.order_by(*(column.copy() for column in columns)).sql(dialect=DIALECT)


def build_select(query: Query, values: Mapping[str, str | int | float]) -> exp.Select:
    """Build the syntax tree of a query with these values in the WHERE clause."""
    select = exp.select(*(quote_column(each) for each in query.projection)).distinct()
    select = _join_tables(select, query)
    for each in query.placeholders:
        select = select.where(exp.EQ(this=quote_column(each), expression=exp.convert(values[each])))
    return select


def quote_column(name: str) -> exp.Column:
    """Make a column expression, quoted only where SQL would misread the name."""
    table, _, column = name.rpartition(".")
    return exp.column(quote_name(column), table=quote_name(table))


def quote_name(name: str) -> exp.Identifier:
    """Make an identifier, quoted only where SQL would misread it."""
    return exp.to_identifier(name, quoted=needs_quotes(name))


def needs_quotes(name: str) -> bool:
    """Tell whether SQL reads a bare name as something else."""
    return not PLAIN.fullmatch(name) or name.lower() in RESERVED


def _join_tables(select: exp.Select, query: Query) -> exp.Select:
    """Add FROM and the joins, outwards from the first projected column's table."""
    first = table_of(query.projection[0])
    select = select.from_(exp.Table(this=quote_name(first)))
    for table, conditions in order_joins(query, first):
        equalities = [
            exp.EQ(this=quote_column(here), expression=quote_column(there)) for here, there in conditions
        ]
        select = select.join(exp.Table(this=quote_name(table)), on=exp.and_(*equalities))
    return select


def order_joins(query: Query, first: str) -> Sequence[tuple[str, list[tuple[str, str]]]]:
    """Order the joins so that each table meets one that is already there."""
    seen, steps, waiting = {first}, [], deque([first])
    while waiting:
        here = waiting.popleft()
        for table in sorted({table_of(b) for a, b in _both_ways(query) if table_of(a) == here} - seen):
            seen.add(table)
            waiting.append(table)
            known = [
                (a, b) for a, b in _both_ways(query) if table_of(b) == table and table_of(a) in seen - {table}
            ]
            steps.append((table, sorted(known)))
    return steps


def _both_ways(query: Query) -> list[tuple[str, str]]:
    return [*query.joins, *((b, a) for a, b in query.joins)]
