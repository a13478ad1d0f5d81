"""Find, for all groups of a SQL template at once, the keys of the rows that their answers come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value
from tasks.grammar.construct.queries import FilledSql, Query, write_combinations


def read_keys(
    query: Query, table: str, schema: Sequence[Column], safe: SafeDatabase
) -> Iterator[tuple[str, list[tuple[Value, ...]]]]:
    """Yield each group of a SQL template with the primary keys of its source rows in one table.

    One statement yields all groups, as in the fill-in. A group is identified by the hash of its filled SQL.
    Raises SqlError.
    """
    primary = [column.id for column in schema if column.table == table and column.primary_key]
    source_query = Query(tuple(primary), query.joins, query.placeholders)
    sql = translate(write_combinations(source_query), safe.dialect, schema)
    filled, count = FilledSql(query), len(query.placeholders)
    stream = (row for batch in safe.stream(sql) for row in batch)
    for _, rows in groupby(stream, key=lambda row: [(type(value), value) for value in row[:count]]):
        found = list(rows)
        values = [value for value in found[0][:count] if value is not None]
        yield make_id("group", filled.write(values)), [row[count:] for row in found]
