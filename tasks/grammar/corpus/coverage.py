"""Find what of a query the documents of its source rows do not tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from tasks.grammar.construct.queries import Query, table_of
from tasks.grammar.corpus.entity_tables import (
    Attribute,
    EntityTable,
    find_naming_column,
    list_attributes,
)

CountTold = Callable[[EntityTable, Attribute], int]
"""(entity table, attribute) -> the most values of it that a document of the table's source rows tells; 0 if
one of these documents does not tell it."""


def find_untold(query: Query, tables: Iterable[EntityTable], count_told: CountTold) -> tuple[str, ...]:
    """List the columns of a query that its documents leave out, in the query's order; none if they tell all.

    A column is told by a document of its own row, or by one that reaches it by joins of the query. What two
    documents tell goes together only where one names the other's thing: else nothing says that the airline
    with that headquarters is the one of that flight. Of something counted, its name must be told.
    """
    present = [table for table in tables if table.table in query.tables]
    told = {table.table: _list_told(query, table, count_told) for table in present}
    needed = {column: column for column in query.columns}
    if query.measure == "count":
        needed |= {key: _name_counted(key, present) for key in query.projection}
    missing = [
        tuple(asked for asked, column in needed.items() if not any(column in told[table] for table in linked))
        for linked in _link(present, told)
    ]
    return min(missing, key=len, default=tuple(needed))


def _list_told(query: Query, table: EntityTable, count_told: CountTold) -> set[str]:
    """List the columns that the documents of a table tell of what the query is about."""
    by_joins: defaultdict[tuple[tuple[str, str], ...], list[tuple[str, int]]] = defaultdict(list)
    for attribute in table.attributes:
        if set(attribute.joins) <= set(query.joins) and (count := count_told(table, attribute)):
            by_joins[attribute.joins].append((attribute.column, count))
    told = set(table.primary)  # a document is there: so is the thing
    for joins, columns in by_joins.items():
        asked = [count for column, count in columns if column in query.columns]
        # Of two directors and two dates of birth, nothing says which belong together.
        mixed = bool(joins) and len(asked) > 1 and max(asked) > 1
        told.update(column for column, _ in columns if not mixed or column == _find_name(column, table))
    return told


def _name_counted(key: str, tables: Sequence[EntityTable]) -> str:
    """Return the column by which a counted thing is told: its key where it has documents, else its name."""
    if not tables or any(table.table == table_of(key) for table in tables):
        return key
    return _find_name(key, tables[0]) or key


def _find_name(column: str, table: EntityTable) -> str | None:
    """Find the column with the name of the rows that a column is of."""
    other = table_of(column)
    return find_naming_column(other, tuple(list_attributes(other, table.schema)))


def _link(tables: Sequence[EntityTable], told: Mapping[str, Collection[str]]) -> Iterator[set[str]]:
    """Yield the sets of tables whose documents name each other's things."""
    waiting = {table.table: table.naming for table in tables}
    while waiting:
        linked: set[str] = set()
        grown = {next(iter(waiting))}
        while grown:
            linked |= grown
            names = {one: waiting.pop(one) for one in grown}
            grown = {
                other
                for other, naming in waiting.items()
                for one, name in names.items()
                if naming in told[one] or name in told[other]
            }
        yield linked
