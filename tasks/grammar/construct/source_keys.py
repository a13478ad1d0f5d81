"""Find, for all groups of a SQL template at once, the keys of the rows that their answers come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value
from tasks.grammar.construct.combinations import read_sources
from tasks.grammar.construct.queries import FilledSql, Query


def read_keys(
    query: Query, table: str, schema: Sequence[Column], safe: SafeDatabase
) -> Iterator[tuple[str, list[tuple[Value, ...]]]]:
    """Yield each group of a SQL template with the primary keys of its source rows in one table.

    One statement yields all groups, as in the fill-in. A group is identified by the hash of its filled SQL.
    Raises SqlError.
    """
    primary = [column.id for column in schema if column.table == table and column.primary_key]
    filled = FilledSql(query)
    for sources in read_sources(query, primary, schema, safe):
        values = [value for value in sources.values if value is not None]
        yield make_id("group", filled.write(values)), list(sources.cells)
