"""Trace a semantic group to the database rows behind it, and to the raw rows that those were made from.

The source query of a filled query has the same joins and values but selects the source rows: of a measure,
all rows that it is computed from. It tells which rows an answer comes from; it never supplies the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlglot import exp

from tasks.artifacts.parquet import read_rows
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.quoted_names import quote_name
from tasks.databases.values import Value
from tasks.errors import BadInput
from tasks.grammar.construct.queries import DIALECT
from tasks.grammar.construct.sql_reading import BrokenRule, parse_select
from tasks.lineage.nodes import TracedSource
from tasks.lineage.records import StageRecord

LIMITS = QueryLimits(timeout_s=60, memory_mb=512, bytes=50_000_000)
FindRaw = Callable[[str, str, Mapping[str, Any]], Sequence[TracedSource]]
"""(database file's path, table, a row's cells) -> the raw rows that the row was made from, if known."""


@dataclass
class SourceRowTracer:
    """Lineage tracer for the rows of `grammar.fill_in`; databases stay open until `close`.

    root: the folder that paths are relative to. entries: name -> the database's entry in params.yaml.
    """

    root: Path
    entries: Callable[[str], DatabaseEntry]
    find_raw: FindRaw = lambda path, table, cells: ()
    _open: dict[str, tuple[SafeDatabase, list[Column], str]] = field(default_factory=dict, repr=False)
    _exits: ExitStack = field(default_factory=ExitStack, repr=False)

    def __call__(self, stage: StageRecord, record: Mapping[str, Any]) -> list[TracedSource]:
        """Find the source rows of a group.

        Raises BadInput if there are none, or if they no longer give the group's answer; DatabaseGone and
        SqlError if the database cannot be queried.
        """
        if "answer_rows" not in record:  # dropped rows have no query of their own
            return []
        database, columns, path = self._find_database(stage)
        try:
            found = find_sources(record["sql"], columns, database)
        except BrokenRule as error:
            raise BadInput(path, f"the group's query is not one that GRAMMAR builds: {error}") from error
        if not found.rows:
            raise BadInput(path, "no longer has a row that answers the query", hint="benchloom run")
        if {tuple(row) for row in json.loads(record["answer_rows"])} != set(found.answer):
            raise BadInput(path, "now gives another answer to the query", hint="benchloom run")
        recorded = any(dependency.path == path for dependency in stage.deps)
        return [self._describe(row, path, recorded) for row in found.rows]

    def close(self) -> None:
        """Close all databases."""
        self._exits.close()
        self._open.clear()

    def _find_database(self, stage: StageRecord) -> tuple[SafeDatabase, list[Column], str]:
        if stage.key not in self._open:
            schema = next(
                (dependency.path for dependency in stage.deps if dependency.path.endswith("/schema.parquet")),
                None,
            )
            if schema is None:
                raise BadInput(stage.name, "reads no schema.parquet")
            entry = self.entries(stage.key)
            database = self._exits.enter_context(SafeDatabase(entry.resolve_under(self.root), LIMITS))
            path = entry.file.as_posix() if entry.file is not None else entry.label
            self._open[stage.key] = database, read_rows(self.root / schema, Column), path
        return self._open[stage.key]

    def _describe(self, row: SourceRow, path: str, recorded: bool) -> TracedSource:
        cells = dict(row.cells)
        key = "&".join(
            f"{quote(name)}={quote('NULL' if cell is None else str(cell))}" for name, cell in row.key
        )
        return TracedSource(
            "source",
            f"{path}#{quote(row.table)}?{key}",
            {"table": row.table, "key": dict(row.key), "row": cells},
            tuple(self.find_raw(path, row.table, cells)),
            *(((path,), ()) if recorded else ((), ("nothing records what the database held (its `file`)",))),
        )


@dataclass(frozen=True)
class SourceRow:
    """A row of the database. key: its primary key, or all cells where the table has no primary key."""

    table: str
    key: tuple[tuple[str, Value], ...]
    cells: tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class AnswerSources:
    """The rows behind an answer, link tables included, sorted; and the answer computed from them."""

    rows: tuple[SourceRow, ...]
    answer: tuple[tuple[Value, ...], ...]
    """The distinct combinations of projected cells, sorted, or the measure that the database computes; only
    for comparison with the recorded answer."""


def write_source_query(sql: str, columns: Sequence[Column]) -> tuple[str, list[tuple[str, str]], list[int]]:
    """Write a filled query's source query in canonical SQL.

    Returns the SQL, the selected columns as (table, column), and the positions among them of the columns
    that the filled query projects, none if it computes a measure. Every column of every table is selected:
    the key to identify a row, the others to display it. Raises BrokenRule if `sql` is not a query as GRAMMAR
    builds them.
    """
    select = parse_select(sql)
    spelling = {column.table.lower(): column.table for column in columns}
    tables = {node.alias_or_name: spelling[node.name.lower()] for node in select.find_all(exp.Table)}
    keys_first = sorted(columns, key=lambda column: (not column.primary_key, column.name))
    selected = [
        (alias, column)
        for alias, table in sorted(tables.items())
        for column in keys_first
        if column.table == table
    ]
    positions = {(alias.lower(), column.name.lower()): n for n, (alias, column) in enumerate(selected)}
    projected = (
        []
        if is_measured(select)
        else [positions[_read_column(expression, tables, columns)] for expression in select.expressions]
    )
    source_query = select.copy()
    source_query.set("order", None)
    source_query.set("limit", None)
    source_query.set(
        "expressions",
        [exp.column(quote_name(column.name), table=quote_name(alias)) for alias, column in selected],
    )
    return (
        source_query.sql(dialect=DIALECT),
        [(tables[alias], column.name) for alias, column in selected],
        projected,
    )


def is_measured(select: exp.Select) -> bool:
    """Return whether a query computes its answer from all rows that fit: a number, or the first by a rank."""
    return bool(select.args.get("limit")) or not all(
        isinstance(expression.unalias(), exp.Column) for expression in select.expressions
    )


def find_sources(sql: str, columns: Sequence[Column], database: SafeDatabase) -> AnswerSources:
    """Find the rows that a filled query's answer comes from.

    Memory grows with the number of rows found. Raises SqlError, and BrokenRule if `sql` is not a query as
    GRAMMAR builds them.
    """
    source_query, selected, projected = write_source_query(sql, columns)
    keys = {
        table: [column for column in columns if column.table == table and column.primary_key]
        for table, _ in selected
    }
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], SourceRow] = {}
    answer: set[tuple[Value, ...]] = set()
    for batch in database.stream(translate(source_query, database.dialect, columns)):
        for row in batch:
            if projected:
                answer.add(tuple(row[position] for position in projected))
            for table in keys:
                cells = tuple(
                    (name, cell) for (owner, name), cell in zip(selected, row, strict=True) if owner == table
                )
                key_names = {column.name for column in keys[table]}
                key = tuple(cell for cell in cells if cell[0] in key_names) or cells
                found[table, key] = SourceRow(table, key, cells)
    if not projected:
        answer = {
            row for batch in database.stream(translate(sql, database.dialect, columns)) for row in batch
        }
    rows = sorted(found.values(), key=lambda row: (row.table, [_sort_key(cell) for _, cell in row.key]))
    answer_rows = sorted(answer, key=lambda row: [_sort_key(cell) for cell in row])
    return AnswerSources(tuple(rows), tuple(answer_rows))


def _read_column(node: exp.Expr, tables: dict[str, str], columns: Sequence[Column]) -> tuple[str, str]:
    """Return a projected column as (its table's alias in the query, its name), in lower case."""
    column = node.unalias()
    if not isinstance(column, exp.Column):
        raise BrokenRule("constant", column.sql(dialect=DIALECT))
    name = column.name.lower()
    owners = {column.table for column in columns if column.name.lower() == name}
    for alias, table in tables.items():
        if column.table.lower() == alias.lower() or (not column.table and table in owners):
            return alias.lower(), name
    raise BrokenRule("unknown_name", column.sql(dialect=DIALECT))


def _sort_key(value: Value) -> tuple[int, float, str]:
    if value is None:
        return (0, 0, "")
    return (2, 0, value) if isinstance(value, str) else (1, value, "")
