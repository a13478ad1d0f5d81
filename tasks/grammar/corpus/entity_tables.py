"""Entity tables: tables whose rows get a document each, and the attributes that describe a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import format_value
from tasks.grammar.construct.names import (
    is_name,
    name_column,
    name_column_with_unit,
    name_role,
    name_table,
)
from tasks.grammar.construct.queries import Query, table_of, write_combinations
from tasks.grammar.construct.verbalisation import find_relations

Key = tuple[Value, ...]
"""The values of a row's primary key."""


@dataclass(frozen=True)
class Attribute:
    """A column that describes a row of an entity table: its own, or one of a row that it refers to."""

    column: str
    words: str
    joins: tuple[tuple[str, str], ...]
    """Pairs of columns that lead from the entity table to the column's table."""


@dataclass(frozen=True)
class EntityTable:
    """A table whose rows get a document each."""

    database: str
    table: str
    schema: Sequence[Column]
    primary: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    naming: str | None
    """The column with the name of a row; None if a row has only its key."""


def open_entity_table(database: str, table: str, schema: Sequence[Column]) -> EntityTable:
    """Look a table up in the schema. Raises BadInput if it does not exist or has no primary key."""
    place = f"params.yaml: grammar.profiles.entities.{database}"
    tables = sorted({column.table for column in schema})
    if table not in tables:
        raise BadInput(place, f"no table {table!r} (there are {', '.join(tables)})")
    primary = tuple(column.id for column in schema if column.table == table and column.primary_key)
    if not primary:
        raise BadInput(place, f"the table {table!r} has no primary key to identify its rows by")
    attributes = tuple(list_attributes(table, schema))
    return EntityTable(database, table, schema, primary, attributes, find_naming_column(table, attributes))


def list_attributes(table: str, schema: Sequence[Column]) -> Iterator[Attribute]:
    """List the attributes of a table's rows: own columns first, then those of rows that it is tied to.

    Of rows that a link table ties to it, only the name is told, where they have one: of several, the rest
    could not be put down to any. What refers to its own table is left out: a query knows each table once.
    """
    for column in schema:
        if column.table == table and column.descriptive:
            yield Attribute(column.id, name_column_with_unit(column.id, schema), ())
    for ends, keys in find_relations(schema):
        linked = len(keys) > 1
        if table not in ends or ends[0] == ends[1] or (not linked and ends[0] != table):
            continue
        other = ends[1] if ends[0] == table else ends[0]
        words = name_role(keys, other, schema) if other == ends[1] else _name_owner(ends, keys, schema)
        joins = tuple(tuple(sorted((key.id, key.references or ""))) for key in keys)
        told = [column for column in schema if column.table == other and column.descriptive]
        named = [column for column in told if is_name(name_column(column.id, schema))]
        for column in named or told if linked else told:
            of = "" if column in named else f"{name_column_with_unit(column.id, schema)} of the "
            yield Attribute(column.id, f"{of}{words}", tuple(sorted((one, two) for one, two in joins)))


def _name_owner(ends: tuple[str, str], keys: Sequence[Column], schema: Sequence[Column]) -> str:
    """Name the owner for what it owns: project; film as director, where other links tie the two."""
    owner = name_table(ends[0], schema)
    several = sum(other == ends and len(found) > 1 for other, found in find_relations(schema)) > 1
    return f"{owner} as {name_role(keys, ends[1], schema)}" if several else owner


def find_naming_column(table: str, attributes: Sequence[Attribute]) -> str | None:
    """Find the column with the name of a table's rows; None if they have only their keys."""
    own = [attribute.column for attribute in attributes if table_of(attribute.column) == table]
    return next((column for column in own if is_name(name_column(column))), None)


def make_fact_id(profile: str, attribute: Attribute) -> str:
    """Make the id of the fact that a profile has for an attribute."""
    return make_id("fact", profile, attribute.column, attribute.joins)


def read_distinct_values(attribute: Attribute, schema: Sequence[Column], safe: SafeDatabase) -> set[str]:
    """Read the distinct values that an attribute has, of whatever row. Raises SqlError."""
    sql = write_combinations(Query((attribute.column,), attribute.joins, ()))
    stream = safe.stream(translate(sql, safe.dialect, schema))
    return {format_value(row[0]) for batch in stream for row in batch if row[0] not in (None, "")}


def read_values(
    attribute: Attribute, primary: Sequence[str], schema: Sequence[Column], safe: SafeDatabase
) -> Iterator[tuple[Key, list[str]]]:
    """Yield (key, distinct values of an attribute, sorted) for every row that has any. Raises SqlError."""
    query = Query((attribute.column,), attribute.joins, tuple(sorted(primary)))
    order = [sorted(primary).index(column) for column in primary]
    pick = itemgetter(*order) if len(order) > 1 else itemgetter(slice(order[0], order[0] + 1))
    found: defaultdict[Key, set[str]] = defaultdict(set)
    for batch in safe.stream(translate(write_combinations(query), safe.dialect, schema)):
        for row in batch:
            if row[-1] is not None and row[-1] != "":
                found[pick(row)].add(format_value(row[-1]))
    for key, values in found.items():
        yield key, sorted(values)
