"""GRAMMAR's queries (select, project, join, placeholders for values), and functions that write their SQL.

Unlike in the GRAMMAR paper, a query may compute a measure over several rows, and compare a column using an
operator other than `=`. A placeholder has the name of the column that it is compared with. For operators
other than `=`, the name has a suffix: `films.runtime_minutes:over`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import sqlglot
from sqlglot import exp

from tasks.artifacts.rows import make_id
from tasks.databases.columns import split_column_id
from tasks.databases.profile.readings import Readings, apply_readings
from tasks.databases.quoted_names import quote_column, quote_name

DIALECT = "sqlite"
"""The dialect of all stored SQL. Queries for other engines are translated."""
PLACEHOLDER = re.compile(r"\[[^\[\]]*\]")
"""Matches a placeholder with its brackets."""
QUOTED_PLACEHOLDER = re.compile(r"'\[[^\[\]']*\]'")
"""Matches a placeholder as a SQL string literal."""
LITERAL = r"('(?:[^']|'')*'|-?[0-9][0-9.eE+-]*)"
"""Matches a string or number literal in SQL."""


Measure = Literal["", "list", "count", "average", "most", "least"]
"""The measure that a query computes from the matching rows, or an empty string.

`list` lists the rows, and `count` counts the rows. `average` computes the mean of a column to one decimal.
`most` and `least` find the row with the largest or smallest value of a column.
"""

COMPARISONS: Mapping[str, type[exp.Binary]] = {
    "over": exp.GT, "under": exp.LT, "from": exp.GTE, "to": exp.LTE, "other": exp.EQ,
}  # fmt: skip
"""The operator for each suffix of a placeholder. `other` marks a second value that the column may equal."""


Among = Mapping[str, Sequence[str | int]]
"""The values to read, by column of `Query.equal`; columns without an entry are not filtered.

An engine that treats Oslo and oslo as equal may also read rows with other spellings.
"""
NOT_LIMITED: Among = MappingProxyType({})
AS_THEY_ARE: Readings = MappingProxyType({})
"""An empty mapping of cell conversions: all cells are used as stored."""


@dataclass(frozen=True)
class Query:
    """The meaning of a SQL template, independent of the spelling of its SQL.

    Columns have the form `table.column`.
    """

    projection: tuple[str, ...]
    """The selected columns; for a count, the key of the counted rows; for an average, the averaged column."""
    joins: tuple[tuple[str, str], ...]
    """Pairs of columns that must be equal. The pairs are sorted, and so are the two columns of each pair."""
    placeholders: tuple[str, ...]
    """The sorted names of the placeholders: a column, with a suffix if the operator is not `=`."""
    measure: Measure = ""
    ranked_by: str = ""
    """The column that ranks the rows, for the measures `most` and `least`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The distinct columns of the projection, the placeholders and the ranking."""
        given = map(column_of, self.placeholders)
        return tuple(dict.fromkeys([*self.projection, *given, *filter(None, [self.ranked_by])]))

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables of the query, sorted."""
        names = [*self.columns, *(side for pair in self.joins for side in pair)]
        return tuple(sorted({table_of(name) for name in names}))

    @cached_property
    def equal(self) -> tuple[str, ...]:
        """The placeholders whose column must equal one value."""
        return tuple(name for name in self.placeholders if name not in self.varied)

    @cached_property
    def varied(self) -> tuple[str, ...]:
        """The placeholders for a range or a pair of names, all on one column; empty if there are none."""
        column = next((column_of(name) for name in self.placeholders if comparison_of(name)), None)
        return tuple(name for name in self.placeholders if column_of(name) == column)

    @property
    def id(self) -> str:
        """The hash of the canonical form: projection, joins, placeholders and measure."""
        measure = [self.measure, self.ranked_by] if self.measure else []
        return make_id("sql_template", sorted(self.projection), self.joins, self.placeholders, *measure)


@dataclass(frozen=True)
class FreeQuery(Query):
    """A free-form SELECT, which may contain aggregates, groups, subqueries and set operations.

    `projection` contains the selected columns, or is empty if the SQL selects anything other than columns.
    `joins` and `measure` are empty, because only the SQL defines the question.
    """

    sql: str = ""
    """Canonical SQL, with `'[table.column]'` instead of each value, and `'[table.column#2]'` instead of a
    column's second value. A placeholder that occurs more than once has the same value everywhere."""
    used: tuple[str, ...] = ()
    """The columns that occur in the SQL or in names of placeholders, sorted."""
    read: tuple[str, ...] = ()
    """The tables that the SQL reads, sorted."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in `used`."""
        return self.used

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables in `read`."""
        return self.read

    @property
    def id(self) -> str:
        """The hash of the SQL, ignoring the case of names."""
        parsed = sqlglot.parse_one(self.sql, dialect=DIALECT)
        for name in parsed.find_all(exp.Identifier):
            name.set("this", name.name.lower())
        return make_id("sql_template", "free", parsed.sql(dialect=DIALECT))


def table_of(column: str) -> str:
    """Return the name of a column's table, given the column's id."""
    return split_column_id(column)[0]


def column_of(placeholder: str) -> str:
    """Return the column that a placeholder is compared with."""
    suffix = comparison_of(placeholder)
    return placeholder.removesuffix(f":{suffix}") if suffix else placeholder


def comparison_of(placeholder: str) -> str:
    """Return the suffix of a placeholder: a key of `COMPARISONS`, or an empty string for `=`."""
    _, _, suffix = placeholder.rpartition(":")
    return suffix if suffix in COMPARISONS and suffix != placeholder else ""


def write_template(query: Query) -> str:
    """Write a query's SQL, with `'[table.column]'` instead of each value."""
    if isinstance(query, FreeQuery):
        return query.sql
    return build_select(query, {name: f"[{name}]" for name in query.placeholders}).sql(dialect=DIALECT)


def write_filled(
    query: Query, values: Mapping[str, str | int | float], readings: Readings = AS_THEY_ARE
) -> str:
    """Write a query's SQL with values instead of placeholders: text quoted and escaped, numbers as numbers.

    `readings` contains the cell conversions of each column; the SQL includes these conversions. Free-form SQL
    ignores `readings`.
    """
    if isinstance(query, FreeQuery):
        marks = {f"'[{name}]'": write_literal(value) for name, value in values.items()}
        return QUOTED_PLACEHOLDER.sub(lambda found: marks.get(found[0], found[0]), query.sql)
    return apply_readings(build_select(query, values), readings).sql(dialect=DIALECT)


class FilledSql:
    """Writes the same SQL as `write_filled`, but builds the syntax tree only once for millions of values."""

    def __init__(self, query: Query, readings: Readings = AS_THEY_ARE) -> None:
        # SQL contains no null characters, so the marks cannot occur in it by chance.
        marks = {name: f"\0{number}\0" for number, name in enumerate(query.placeholders)}
        self._placeholders = query.placeholders
        self._pieces = re.split("'\0(\\d+)\0'", write_filled(query, marks, readings))

    def write(self, values: Sequence[str | int | float]) -> str:
        """Write the query's SQL with the given values, which are in the order of the placeholders."""
        pieces = self._pieces
        return "".join(
            write_literal(values[int(piece)]) if number % 2 else piece for number, piece in enumerate(pieces)
        )

    def read(self, sql: str) -> dict[str, str] | None:
        """Return the literal of each placeholder, by name, in SQL that was written for this query.

        Returns None if the SQL does not belong to this query, or if a placeholder has two values.
        """
        parts = [LITERAL if number % 2 else re.escape(piece) for number, piece in enumerate(self._pieces)]
        found = re.fullmatch("".join(parts), sql)
        if found is None:
            return None
        names = [self._placeholders[int(piece)] for piece in self._pieces[1::2]]
        pairs = set(zip(names, found.groups(), strict=True))
        literals = dict(pairs)
        return literals if len(literals) == len(pairs) else None


def write_literal(value: str | int | float) -> str:
    """Write a value as a SQL literal: text quoted and escaped, numbers as numbers."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value) if isinstance(value, int) else exp.convert(value).sql(dialect=DIALECT)


def write_rows(
    query: Query,
    columns: Sequence[str],
    *,
    distinct: bool = True,
    among: Among = NOT_LIMITED,
    readings: Readings = AS_THEY_ARE,
) -> str:
    """Write one SQL query that returns the columns `query.equal` and `columns` of the joined rows.

    `among` limits the values of `query.equal`. Rows are sorted by the cells of `query.equal`, so that all
    rows with the same combination of values are adjacent. Combinations without an answer have no row.
    `distinct` removes repeated rows.
    """
    selected = [quote_column(column) for column in (*query.equal, *columns)]
    select = exp.select(*selected)
    select = _join_tables(select.distinct() if distinct else select, query)
    for column in query.equal:
        values = [exp.convert(value) for value in among.get(column, ())]
        select = select.where(
            exp.In(this=quote_column(column), expressions=values) if values else _is_set(column)
        )
    order = [*dict.fromkeys(selected)]
    ordered = select.order_by(*(column.copy() for column in order))
    return apply_readings(ordered, readings).sql(dialect=DIALECT)


def build_select(query: Query, values: Mapping[str, str | int | float]) -> exp.Select:
    """Build the syntax tree of a query, with the given values in the WHERE clause."""
    columns = [quote_column(column) for column in query.projection]
    select: exp.Select
    if query.measure == "count":
        select = exp.select(exp.Count(this=exp.Distinct(expressions=columns)))
    elif query.measure == "average":
        mean = exp.Avg(this=columns[0])
        select = exp.select(exp.Round(this=mean, decimals=exp.Literal.number(1)))
    elif query.measure in ("most", "least"):
        select = exp.select(*columns)
    else:
        select = exp.select(*columns).distinct()
    select = _join_tables(select, query)
    for condition in _list_conditions(query, values):
        select = select.where(condition)
    if query.measure == "list":
        return select.order_by(*(column.copy() for column in columns))
    if query.measure in ("most", "least"):
        rank = quote_column(query.ranked_by)
        # NULL has SQLite's default place, because sqlglot would write out any other place.
        order = exp.Ordered(
            this=rank.copy(), desc=query.measure == "most", nulls_first=query.measure == "least"
        )
        return select.where(_is_set(query.ranked_by)).order_by(order).limit(1)
    return select


def _list_conditions(query: Query, values: Mapping[str, str | int | float]) -> list[exp.Expr]:
    """List the conditions on the given values. All conditions on the varied column are merged into one."""
    conditions: list[exp.Expr] = []
    for name in query.placeholders:
        if name not in query.varied:
            conditions.append(_compare(name, values))
        elif name == query.varied[0]:
            conditions.append(_combine([_compare(given, values) for given in query.varied]))
    return conditions


def _compare(name: str, values: Mapping[str, str | int | float]) -> exp.Binary:
    comparison = COMPARISONS.get(comparison_of(name), exp.EQ)
    return comparison(this=quote_column(column_of(name)), expression=exp.convert(values[name]))


def _combine(conditions: Sequence[exp.Binary]) -> exp.Expr:
    if len(conditions) == 1:
        return conditions[0]
    low, high = conditions
    if isinstance(low, exp.EQ):
        return exp.paren(exp.or_(low, high))
    return exp.Between(this=low.this, low=low.expression, high=high.expression)


def _is_set(column: str) -> exp.Expr:
    return exp.Not(this=exp.Is(this=quote_column(column), expression=exp.Null()))


def _join_tables(select: exp.Select, query: Query) -> exp.Select:
    """Add a FROM clause with the table of the first projected column, and then the joins."""
    first = table_of(query.projection[0])
    select = select.from_(exp.Table(this=quote_name(first)))
    for table, conditions in order_joins(query, first):
        equalities = [
            exp.EQ(this=quote_column(left), expression=quote_column(right)) for left, right in conditions
        ]
        select = select.join(exp.Table(this=quote_name(table)), on=exp.and_(*equalities))
    return select


def order_joins(query: Query, first: str) -> Sequence[tuple[str, list[tuple[str, str]]]]:
    """Return the tables other than `first`, each with its join conditions.

    The order ensures that each table joins `first` or an earlier table.
    """
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
