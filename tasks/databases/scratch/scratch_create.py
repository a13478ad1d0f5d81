"""Write the CREATE statements of a scratch database from a schema: STRICT tables with all their keys."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.databases.columns import Column, split_column_id

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORDS = """
abort action add after all alter always analyze and as asc attach autoincrement before begin between by
cascade case cast check collate column commit conflict constraint create cross current current_date
current_time current_timestamp database default deferrable deferred delete desc detach distinct do drop
each else end escape except exclude exclusive exists explain fail filter first following for foreign from
full generated glob group groups having if ignore immediate in index indexed initially inner insert instead
intersect into is isnull join key last left like limit match materialized natural no not nothing notnull
null nulls of offset on or order others outer over partition plan pragma preceding primary query raise
range recursive references regexp reindex release rename replace restrict returning right rollback row rows
savepoint select set table temp temporary then ties to transaction trigger unbounded union unique update
using vacuum values view virtual when where window with within without true false
"""
KEYWORDS = frozenset(WORDS.split())
"""SQLite's keywords, which must be quoted if they are used as names."""
TYPES = {"integer": "INTEGER", "boolean": "INTEGER", "real": "REAL"}
"""Generic type -> its SQLite type; all other generic types become TEXT."""


@dataclass(frozen=True)
class _Key:
    """A foreign key. The columns `names` refer to the columns `theirs` in the table `target`."""

    target: str
    names: tuple[str, ...]
    theirs: tuple[str, ...]


def quote_name(name: str) -> str:
    """Return a name, with quotes if SQLite requires them."""
    if PLAIN.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def write_create(columns: Sequence[Column], tables: Collection[str]) -> list[str]:
    """Return a CREATE TABLE statement for each of `tables`; referenced tables come first.

    `columns`: all columns of these tables. A reference to any other table or column is dropped.

    The tables are STRICT, so a string in an integer column is an error (SQLite 3.37). A primary key is NOT
    NULL, as on any other engine, unless it is a single INTEGER column, which SQLite numbers automatically.
    Columns that together refer to the whole key of a table form one foreign key. A reference to only part of
    a key is dropped, because SQLite does not support it. A referenced column outside the primary key becomes
    UNIQUE.
    """
    shapes = {table: [column for column in columns if column.table == table] for table in sorted(tables)}
    shapes = {table: shape for table, shape in shapes.items() if shape}
    keys = {table: list(_collect_keys(shape, shapes)) for table, shape in shapes.items()}
    unique = {
        (key.target, key.theirs[0])
        for found in keys.values()
        for key in found
        if key.theirs != _read_primary(shapes[key.target])
    }
    return [
        _write_table(shapes[table], keys[table], {name for owner, name in unique if owner == table})
        for table in _order(keys)
    ]


def _collect_keys(shape: Sequence[Column], shapes: Mapping[str, Sequence[Column]]) -> Iterator[_Key]:
    parts: dict[str, dict[str, str]] = defaultdict(dict)
    for column in shape:
        if column.references is None:
            continue
        target, theirs = split_column_id(column.references)
        if not any(other.name == theirs for other in shapes.get(target, ())):
            continue
        if theirs in _read_primary(shapes[target]) and len(_read_primary(shapes[target])) > 1:
            parts[target][column.name] = theirs
        else:
            yield _Key(target, (column.name,), (theirs,))
    for target, pairs in parts.items():
        names = {theirs: name for name, theirs in pairs.items()}
        primary = _read_primary(shapes[target])
        if len(names) == len(pairs) == len(primary):
            yield _Key(target, tuple(names[theirs] for theirs in primary), primary)


def _read_primary(shape: Sequence[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in shape if column.primary_key)


def _order(keys: Mapping[str, Sequence[_Key]]) -> list[str]:
    """Sort tables so that referenced tables come first; ties and cycles are sorted by name."""
    left = sorted(keys)
    placed: list[str] = []
    while left:
        free = (table for table in left if {key.target for key in keys[table]} <= {*placed, table})
        placed.append(next(free, left[0]))
        left.remove(placed[-1])
    return placed


def _write_table(shape: Sequence[Column], keys: Sequence[_Key], unique: Collection[str]) -> str:
    primary = _read_primary(shape)
    lines = [_write_column(column, alone=primary == (column.name,), unique=unique) for column in shape]
    if len(primary) > 1:
        lines.append(f"PRIMARY KEY ({_list(primary)})")
    lines += [
        f"FOREIGN KEY ({_list(key.names)}) REFERENCES {quote_name(key.target)} ({_list(key.theirs)})"
        for key in keys
    ]
    return f"CREATE TABLE {quote_name(shape[0].table)} (\n  " + ",\n  ".join(lines) + "\n) STRICT"


def _write_column(column: Column, *, alone: bool, unique: Collection[str]) -> str:
    kind = TYPES.get(column.type, "TEXT")
    words = [quote_name(column.name), kind]
    if alone:
        words.append("PRIMARY KEY")
    numbered = alone and kind == "INTEGER"
    if not numbered and (column.primary_key or not column.nullable):
        words.append("NOT NULL")
    if column.name in unique:
        words.append("UNIQUE")
    return " ".join(words)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quote_name, names))
