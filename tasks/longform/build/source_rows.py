"""Stage: read whole rows of a source, from which the rows of synthetic databases are chosen.

Sampling the columns separately would produce impossible rows, such as 2,475 miles in 30 minutes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.databases.columns import Column, split_column_id
from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value
from tasks.longform.build.foci import Focus
from tasks.longform.build.source_columns import SourceColumn
from tasks.longform.build.sql import quote, quote_column, read_column, write_literal
from tasks.longform.entries import SourceDatabase

Cells = dict[str, Value]
"""A row: the value of each column, by column name."""
KEPT = 36
"""Maximum number of rows to keep from each group of a focus."""
ALIKE = 4
"""Maximum number of rows with equal `list_keys` to keep from a group.

If all rows of the group have the same keys, only `KEPT` limits their number.
"""
ENOUGH = 12
"""Minimum number of a group's rows that must satisfy a condition from `_write_alone`.

If fewer rows satisfy the condition, the next weaker condition is used.
"""
READ = 400
"""Maximum number of rows to read from a group, evenly spaced in the order of the focus's measures."""


@dataclass(frozen=True)
class WholeRow:
    """Row of the stage `source_rows`: a row of a source, with the rows that the focus joins to this row."""

    id: str
    focus: str
    """The focus's id; empty for a row that was read only because another row refers to it."""
    group: str
    """The value of the focus's group column."""
    tables: str
    """A JSON object that maps each table to an object with the value of each column."""
    origin: tuple[Origin, ...]


def source_rows(
    entry: SourceDatabase, source_columns: list[SourceColumn], foci: list[Focus]
) -> Drafts[WholeRow]:
    """Keep up to `KEPT` rows per group of every focus, and the distinct rows that these rows refer to."""
    columns = [row.column for row in source_columns]
    kept: list[WholeRow] = []
    with SafeDatabase(entry.file) as database:
        wanted: dict[tuple[str, Value], None] = {}
        for focus in foci:
            for group in focus.groups:
                for tables in _read_group(focus, group, columns, database):
                    kept.append(_make_row(focus.id, group, tables, entry))
                    wanted.update(dict.fromkeys(list_references(tables, columns)))
        kept += _read_referred(wanted, columns, entry, database)
    return Drafts(list({row.id: row for row in kept}.values()))


def list_references(tables: Mapping[str, Cells], columns: Sequence[Column]) -> Iterator[tuple[str, Value]]:
    """Yield (referenced column id, value) for each non-nullable foreign key to a row outside `tables`."""
    for column in columns:
        if column.table in tables and column.references and not column.nullable:
            target, name = split_column_id(column.references)
            value = tables[column.table].get(column.name)
            if value is not None and tables.get(target, {}).get(name) != value:
                yield column.references, value


def _read_group(
    focus: Focus, group: str, columns: Sequence[Column], database: SafeDatabase
) -> list[dict[str, Cells]]:
    shown = [column for column in columns if column.table in focus.tables]
    names = [f"c{place}" for place in range(len(shown))]
    listed = ", ".join(f"{read_column(column)} AS {name}" for column, name in zip(shown, names, strict=True))
    by_id = {column.id: column for column in columns}
    amounts = [read_column(by_id[measure.column]) for measure in focus.measures]
    found: list[dict[str, Cells]] = []
    for alone in _write_alone(focus, group, columns):
        # COALESCE needs two arguments, so NULL is added for a single amount. The outer condition compares
        # integer quotients, and is true for at most `READ` evenly spaced places.
        rows = database.query(
            f"SELECT {', '.join(names)} FROM (SELECT {listed}, COUNT(*) OVER () AS n, "  # noqa: S608 (quoted names)
            f"ROW_NUMBER() OVER (ORDER BY {', '.join(amounts)}) AS place FROM {focus.source} "
            f"WHERE {quote_column(focus.group)} = {write_literal(group)}{alone} "
            f"AND COALESCE({', '.join(amounts)}, NULL) IS NOT NULL) "
            f"WHERE place * {READ} / n <> (place - 1) * {READ} / n ORDER BY place"
        ).rows
        if len(rows) >= ENOUGH:
            break
    for row in rows:
        tables: dict[str, Cells] = {table: {} for table in focus.tables}
        for column, value in zip(shown, row, strict=True):
            tables[column.table][column.name] = value
        found.append(tables)
    alike: defaultdict[str, list[dict[str, Cells]]] = defaultdict(list)
    for tables in found:
        alike[json.dumps(list_keys(tables, focus, columns))].append(tables)
    if len(alike) == 1:
        return _spread(found, KEPT)
    ranked = sorted(alike.values(), key=lambda rows: -len(rows))
    chosen = [_spread(rows, ALIKE) for rows in ranked[:KEPT]]
    in_turn = [row for turn in zip_longest(*chosen) for row in turn if row is not None]
    return in_turn[:KEPT]


def _write_alone(focus: Focus, group: str, columns: Sequence[Column]) -> tuple[str, ...]:
    """Write SQL conditions that exclude rows of several groups, the strictest condition first.

    A synthetic database uses a row for one group only. Without a condition, a film that is both a comedy and
    a thriller could appear as only a comedy. Returns one empty condition if the group column is in the
    focus's table, or if this table has no single primary key.
    """
    keys = [column.id for column in columns if column.table == focus.table and column.primary_key]
    if focus.group.startswith(f"{focus.table}.") or len(keys) != 1:
        return ("",)
    key, name = quote_column(keys[0]), quote_column(focus.group)
    others = ", ".join(write_literal(other) for other in focus.groups if other != group)
    several = f"SELECT {key} FROM {focus.source} GROUP BY {key} HAVING COUNT(*) > 1"  # noqa: S608 (quoted names)
    rivals = f"SELECT {key} FROM {focus.source} WHERE {name} IN ({others})"  # noqa: S608 (quoted names)
    return f" AND {key} NOT IN ({several})", f" AND {key} NOT IN ({rivals})"


def list_keys(
    tables: Mapping[str, Cells], focus: Focus, columns: Sequence[Column]
) -> list[tuple[str, Value]]:
    """List (column id, value) pairs of a row; two rows are interchangeable if their pairs are equal.

    - The focus's table: foreign keys that are not nullable, or that refer to a joined table.
    - The joined tables: all columns except foreign keys back to the focus's table.
    """
    keys = []
    for column in columns:
        if column.table not in tables:
            continue
        own = column.table == focus.table
        back = split_column_id(column.references or "")[0] == focus.table
        joined = split_column_id(column.references or "")[0] in tables
        if (own and column.references and (joined or not column.nullable)) or (not own and not back):
            keys.append((column.id, tables[column.table][column.name]))
    return keys


def _spread(rows: Sequence[dict[str, Cells]], count: int) -> list[dict[str, Cells]]:
    """Pick `count` evenly spaced rows; all rows if there are fewer."""
    if len(rows) <= count:
        return list(rows)
    return [rows[int(len(rows) * (part + 0.5) / count)] for part in range(count)]


def _read_referred(
    wanted: dict[tuple[str, Value], None],
    columns: Sequence[Column],
    entry: SourceDatabase,
    database: SafeDatabase,
) -> Iterator[WholeRow]:
    """Yield the rows that the references in `wanted` point to, directly or through other rows."""
    queue = list(wanted)
    for reference, value in queue:  # the loop body appends to this list
        table = split_column_id(reference)[0]
        shown = [column for column in columns if column.table == table]
        rows = database.query(
            f"SELECT {', '.join(read_column(column) for column in shown)} FROM {quote(table)} "  # noqa: S608 (quoted names)
            f"WHERE {quote_column(reference)} = {write_literal(value)} LIMIT 1"
        ).rows
        for row in rows:
            tables = {table: {column.name: cell for column, cell in zip(shown, row, strict=True)}}
            for further in list_references(tables, columns):
                if further not in wanted:
                    wanted[further] = None
                    queue.append(further)
            yield _make_row("", "", tables, entry)


def _make_row(focus: str, group: str, tables: Mapping[str, Cells], entry: SourceDatabase) -> WholeRow:
    told = json.dumps(tables, ensure_ascii=False)
    return WholeRow(make_id(focus, group, told), focus, group, told, (Origin("file", entry.file.name),))
