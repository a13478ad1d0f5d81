"""Find the keys of the rows behind the answers of a SQL template's groups, for many groups at once."""

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
"""The maximum number of wanted values of a column.

If a column has more wanted values, all its values are read.
"""


def read_keys(
    query: Query,
    table: str,
    groups: Mapping[str, str],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> Iterator[tuple[str, list[tuple[Value, ...]]]]:
    """Yield groups of a SQL template with the primary keys of their source rows in one table.

    `groups` maps filled SQL to the group's id; other groups are not read. One statement yields all groups, as
    in the fill-in. A free query has no such statement, so each of its groups is read by a separate query. A
    free query with a second SELECT yields nothing, because rows that the second SELECT does not find may
    matter too. Raises SqlError.
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
    """List the values of text, date and whole-number columns that the filled SQL of groups contains."""
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
        # Do not limit a column if a literal cannot be read as the column's type: the database may store it in
        # another form.
        if types[column] in ("text", "date", "integer") and 0 < len(values) == len(literals) <= MOST:
            wanted[column] = sorted(values, key=str)
    return wanted
