"""Entity tables, which have one document per row, and the attributes that documents state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.readings import list_readings
from tasks.databases.rendering import write_plain
from tasks.databases.values import Value
from tasks.errors import BadInput
from tasks.grammar.construct.free_joins import describe_joins
from tasks.grammar.construct.names import (
    is_name,
    name_column,
    name_column_with_unit,
    name_role,
    name_table,
)
from tasks.grammar.construct.queries import Query, table_of, write_rows
from tasks.grammar.construct.verbalisation import find_relations

Key = tuple[Value, ...]
"""The values of a row's primary key."""


@dataclass(frozen=True)
class Attribute:
    """A column that describes an entity: a column of the entity's row, or of a related row."""

    column: str
    words: str
    joins: tuple[tuple[str, str], ...]
    """The pairs of columns that join the entity table to the column's table."""


@dataclass(frozen=True)
class EntityTable:
    """A table with one document per row."""

    database: str
    table: str
    schema: Sequence[Column]
    primary: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    naming: str | None
    """The column with the rows' names, or None."""


CountTold = Callable[[EntityTable, Attribute], int]
"""Counts the values of an entity table's attribute in the documents about source rows.

The result is the largest count in one document, or 0 if one of the documents states no value.
"""


def open_entity_table(database: str, table: str, schema: Sequence[Column]) -> EntityTable:
    """Return a table as an entity table.

    Raises BadInput if the table does not exist or has no primary key.
    """
    place = f"params.yaml: grammar.profiles.entities.{database}"
    tables = sorted({column.table for column in schema})
    if table not in tables:
        raise BadInput(place, f"no table {table!r} (known: {', '.join(tables)})")
    primary = tuple(column.id for column in schema if column.table == table and column.primary_key)
    if not primary:
        raise BadInput(place, f"the table {table!r} has no primary key to identify its rows")
    attributes = tuple(list_attributes(table, schema))
    return EntityTable(database, table, schema, primary, attributes, find_naming_column(table, attributes))


def list_attributes(table: str, schema: Sequence[Column]) -> Iterator[Attribute]:
    """Yield the attributes of a table's rows: first the table's columns, then columns of related rows.

    For rows that are related through a link table, only the name column is used, if there is one. With
    several related rows, a reader could not tell which row any other value belongs to. Relations of the table
    to itself are left out, because a query may use each table only once.
    """
    for column in schema:
        if column.table == table and column.descriptive:
            yield Attribute(column.id, name_column_with_unit(column.id, schema), ())
    for pair, keys in find_relations(schema):
        linked = len(keys) > 1
        if table not in pair or pair[0] == pair[1] or (not linked and pair[0] != table):
            continue
        other = pair[1] if pair[0] == table else pair[0]
        words = name_role(keys, other, schema) if other == pair[1] else _name_owner(pair, keys, schema)
        joins = tuple(tuple(sorted((key.id, key.references or ""))) for key in keys)
        told = [column for column in schema if column.table == other and column.descriptive]
        named = [column for column in told if is_name(name_column(column.id, schema))]
        for column in named or told if linked else told:
            of = "" if column in named else f"{name_column_with_unit(column.id, schema)} of the "
            yield Attribute(column.id, f"{of}{words}", tuple(sorted((left, two) for left, two in joins)))


def _name_owner(pair: tuple[str, str], keys: Sequence[Column], schema: Sequence[Column]) -> str:
    """Return a phrase for a pair's first table, which refers to the second table: `project`.

    If several relations connect the two tables, the phrase includes the role: `film as director`.
    """
    owner = name_table(pair[0], schema)
    several = sum(other == pair and len(found) > 1 for other, found in find_relations(schema)) > 1
    return f"{owner} as {name_role(keys, pair[1], schema)}" if several else owner


def find_naming_column(table: str, attributes: Sequence[Attribute]) -> str | None:
    """Return the column with the names of a table's rows, or None."""
    own = [attribute.column for attribute in attributes if table_of(attribute.column) == table]
    return next((column for column in own if is_name(name_column(column))), None)


def make_fact_id(profile: str, attribute: Attribute) -> str:
    """Return the id of the fact that states an attribute in a profile."""
    return make_id("fact", profile, attribute.column, attribute.joins)


def make_count_id(profile: str, column: str, joins: Sequence[tuple[str, str]], value: str) -> str:
    """Return the id of a fact that states how many rows of the profile's table have a value."""
    return make_id("count", profile, column, joins, value)


def read_distinct_values(attribute: Attribute, schema: Sequence[Column], safe: SafeDatabase) -> set[str]:
    """Return the distinct values of an attribute in all rows. Raises SqlError."""
    query = Query((attribute.column,), attribute.joins, ())
    sql = write_rows(query, query.projection, readings=list_readings(schema))
    stream = safe.stream(translate(sql, safe.dialect, schema))
    return {write_plain(row[0]) for batch in stream for row in batch if row[0] not in (None, "")}


def read_values(
    attribute: Attribute, primary: Sequence[str], schema: Sequence[Column], safe: SafeDatabase
) -> Iterator[tuple[Key, list[str]]]:
    """Yield (key, sorted distinct values of an attribute) for every row that has a value. Raises SqlError."""
    query = Query((attribute.column,), attribute.joins, tuple(sorted(primary)))
    order = [sorted(primary).index(column) for column in primary]
    # With only one index, `itemgetter` would return a cell instead of a tuple.
    pick = itemgetter(*order) if len(order) > 1 else itemgetter(slice(order[0], order[0] + 1))
    found: defaultdict[Key, set[str]] = defaultdict(set)
    sql = write_rows(query, query.projection, readings=list_readings(schema))
    for batch in safe.stream(translate(sql, safe.dialect, schema)):
        for row in batch:
            if row[-1] is not None and row[-1] != "":
                found[pick(row)].add(write_plain(row[-1]))
    for key, values in found.items():
        yield key, sorted(values)


def find_untold(query: Query, tables: Iterable[EntityTable], count_told: CountTold) -> tuple[str, ...]:
    """List the columns of a query, in order, that the documents about the query's rows do not state.

    A column may be stated in the document about its row or about a joined row. Statements in two documents
    can be combined only if one document names the other document's entity. For example, a flight's document
    and an airline's document can be combined only if the flight's document names the airline. If the query
    counts rows, documents must identify the counted rows.
    """
    tables = list(tables)
    if tables:
        query = describe_joins(query, tables[0].schema)
    present = [table for table in tables if table.table in query.tables]
    told = {table.table: list_told(query, table, count_told) for table in present}
    needed = {column: column for column in query.columns}
    if query.measure == "count":
        needed |= {key: _name_counted(key, present) for key in query.projection}
    missing = [
        tuple(asked for asked, column in needed.items() if not any(column in told[table] for table in linked))
        for linked in _link(present, told)
    ]
    return min(missing, key=len, default=tuple(needed))


def list_told(query: Query, table: EntityTable, count_told: CountTold) -> set[str]:
    """Return the columns of a query that the documents about a table's rows state."""
    by_joins: defaultdict[tuple[tuple[str, str], ...], list[tuple[str, int]]] = defaultdict(list)
    for attribute in table.attributes:
        if set(attribute.joins) <= set(query.joins) and (count := count_told(table, attribute)):
            by_joins[attribute.joins].append((attribute.column, count))
    told = set(table.primary)  # the document identifies its row
    for joins, columns in by_joins.items():
        asked = [count for column, count in columns if column in query.columns]
        # For two directors and two dates of birth, a document does not state which date belongs to whom.
        mixed = bool(joins) and len(asked) > 1 and max(asked) > 1
        told.update(column for column, _ in columns if not mixed or column == _find_name(column, table))
    return told


def _name_counted(key: str, tables: Sequence[EntityTable]) -> str:
    """Return the column that identifies a counted row: the key if the rows have documents, else the name."""
    if not tables or any(table.table == table_of(key) for table in tables):
        return key
    return _find_name(key, tables[0]) or key


def _find_name(column: str, table: EntityTable) -> str | None:
    """Return the name column of a column's table, or None."""
    other = table_of(column)
    return find_naming_column(other, tuple(list_attributes(other, table.schema)))


def _link(tables: Sequence[EntityTable], told: Mapping[str, Collection[str]]) -> Iterator[set[str]]:
    """Yield groups of tables whose documents can be combined.

    Two tables are in one group if documents of one table name the entities of the other, directly or through
    other tables.
    """
    waiting = {table.table: table.naming for table in tables}
    while waiting:
        linked: set[str] = set()
        grown = {next(iter(waiting))}
        while grown:
            linked |= grown
            names = {entity: waiting.pop(entity) for entity in grown}
            grown = {
                other
                for other, naming in waiting.items()
                for entity, name in names.items()
                if naming in told[entity] or name in told[other]
            }
        yield linked
