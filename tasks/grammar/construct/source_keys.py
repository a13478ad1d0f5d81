"""Find the keys of the rows that answers come from, for many groups of a SQL template at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp

from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.readings import list_readings
from tasks.databases.values import Value
from tasks.grammar.construct.combinations import read_sources
from tasks.grammar.construct.queries import DIALECT, Among, FilledSql, FreeQuery, Query
from tasks.grammar.construct.source_rows import find_sources

MOST = 500
"""The maximum number of values in the filter of a column.

A column with more values in the groups is not filtered, so all its values are read.
"""


def read_keys(
    query: Query,
    table: str,
    groups: Mapping[str, str],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> Iterator[tuple[str, list[tuple[Value, ...]]]]:
    """Yield the groups of a SQL template with the primary keys of their source rows in one table.

    `groups` contains the ids of the groups to read, by filled SQL. One statement reads all groups, as in the
    fill-in. For free-form SQL, a separate statement reads each group. Free-form SQL with several SELECTs
    yields nothing, because its answer may also depend on rows that a SELECT does not return. Raises SqlError.
    """
    if isinstance(query, FreeQuery):
        yield from _read_free_keys(query, table, groups, schema, safe)
        return
    primary = [column.id for column in schema if column.table == table and column.primary_key]
    filled = FilledSql(query, list_readings(schema))
    among = list_wanted(query, filled, groups, schema)
    for sources in read_sources(query, primary, schema, safe, among) if groups else ():
        values = [value for value in sources.values if value is not None]
        if group := groups.get(filled.write(values)):
            yield group, list(sources.cells)


def _read_free_keys(
    query: FreeQuery, table: str, groups: Mapping[str, str], schema: Sequence[Column], safe: SafeDatabase
) -> Iterator[tuple[str, list[tuple[Value, ...]]]]:
    if len(list(sqlglot.parse_one(query.sql, dialect=DIALECT).find_all(exp.Select))) > 1:
        return
    for sql, group in groups.items():
        rows = find_sources(sql, schema, safe).rows
        yield group, [tuple(cell for _, cell in row.key) for row in rows if row.table == table]


def list_wanted(query: Query, filled: FilledSql, groups: Iterable[str], schema: Sequence[Column]) -> Among:
    """Return the values in the groups' filled SQL, by column, for text, date and whole-number columns.

    Columns with more than `MOST` values, or with a value of another type, are left out.
    """
    types = {column.id: column.type for column in schema}
    given: defaultdict[str, set[str]] = defaultdict(set)
    for sql in groups:
        for name, literal in (filled.read(sql) or {}).items():
            given[name].add(literal)
    wanted: dict[str, Sequence[str | int]] = {}
    for column in query.equal:
        literals = given[column]
        values: Sequence[str | int]
        if types[column] in ("text", "date"):
            values = [literal[1:-1].replace("''", "'") for literal in literals if literal.startswith("'")]
        else:
            values = [int(literal) for literal in literals if literal.lstrip("-").isdigit()]
        # Do not filter a column if a literal does not have the column's type, because the database may store
        # the value in another form.
        if types[column] in ("text", "date", "integer") and 0 < len(values) == len(literals) <= MOST:
            wanted[column] = sorted(values, key=str)
    return wanted
