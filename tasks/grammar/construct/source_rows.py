"""Trace a semantic group to the database rows that its answer comes from, and to the raw data of these rows.

The source query of a filled query has the same joins and values, but selects the source rows. For a measure,
the source rows are all rows that the measure is computed from. A source query never computes an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tasks.databases.profile.readings import apply_readings, list_readings
from tasks.databases.quoted_names import quote_name
from tasks.databases.values import Value, rank_value
from tasks.errors import BadInput
from tasks.grammar.construct.free_reading import list_sources, parse_free
from tasks.grammar.construct.queries import DIALECT
from tasks.grammar.construct.sql_reading import BrokenRule, parse_select
from tasks.lineage.nodes import TracedSource
from tasks.lineage.records import StageRecord

LIMITS = QueryLimits(timeout_s=60, memory_mb=512, bytes=50_000_000)
"""The limits of each source query: seconds, MiB of memory, and bytes of the result."""
FindRaw = Callable[[str, str, Mapping[str, Any]], Sequence[TracedSource]]
"""A function that returns the raw rows that a database row was made from.

The arguments are the database's path, the name of the table, and the row's cells.
"""


@dataclass
class SourceRowTracer:
    """Traces the rows of `grammar.fill_in` to the database; databases remain open until `close`.

    `root` is the folder that paths are relative to. `entries` is a function that
    maps a database's name to the database's entry in params.yaml.
    """

    root: Path
    entries: Callable[[str], DatabaseEntry]
    find_raw: FindRaw = lambda path, table, cells: ()
    _open: dict[str, tuple[SafeDatabase, list[Column], str]] = field(default_factory=dict, repr=False)
    _exits: ExitStack = field(default_factory=ExitStack, repr=False)

    def __call__(self, stage: StageRecord, record: Mapping[str, Any]) -> list[TracedSource]:
        """Return the source rows of a group, or an empty list for a dropped row.

        Raises BadInput if there are no source rows, if the answer from these rows differs from the group's
        answer, or if the SQL does not have the form of GRAMMAR's queries. Raises DatabaseGone and SqlError if
        the database cannot be queried.
        """
        if "answer_rows" not in record:  # dropped rows have no query
            return []
        database, columns, path = self._find_database(stage)
        try:
            found = find_sources(record["sql"], columns, database)
        except BrokenRule as error:
            raise BadInput(
                path, f"the group's query does not have the form that GRAMMAR builds: {error}"
            ) from error
        if {tuple(row) for row in json.loads(record["answer_rows"])} != set(found.answer):
            what = "now gives another answer to the query"
            if not found.answer:
                what = "no longer has a row that answers the query"
            raise BadInput(path, what, hint="run `benchloom run`")
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
                raise BadInput(stage.name, "does not read schema.parquet")
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
    """A row of the database. `key` contains the primary key, or all cells if the table has no primary key."""

    table: str
    key: tuple[tuple[str, Value], ...]
    cells: tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class AnswerSources:
    """The sorted rows that an answer comes from, including rows of link tables, and the recomputed answer."""

    rows: tuple[SourceRow, ...]
    answer: tuple[tuple[Value, ...], ...]
    """The sorted distinct combinations of projected cells, or the measure that the database computes.

    This answer is used only for a comparison with the recorded answer.
    """


def write_source_queries(
    sql: str, columns: Sequence[Column]
) -> tuple[list[tuple[str, list[tuple[str, str]]]], list[int]]:
    """Write a filled query's source queries: one per SELECT of a set operation, otherwise one query.

    Returns each query with its selected columns, and the positions of the projected columns (see
    `write_source_query`). For user-written SQL with GROUP BY, ORDER BY or subqueries, the source rows are
    the rows that the outer SELECT reads. Raises BrokenRule if the outer SELECT reads anything other than
    tables.
    """
    try:
        source, selected, projected = write_source_query(sql, columns)
    except BrokenRule:
        statement = parse_free(sql)
        arms = statement.find_all(exp.Select) if isinstance(statement, exp.SetOperation) else [statement]
        return [_write_free(arm, columns) for arm in arms if not _is_nested(arm)], []
    return [(source, selected)], projected


def _is_nested(select: exp.Expr) -> bool:
    """Return whether a SELECT is a subquery; a part of a set operation is not a subquery."""
    return select.find_ancestor(exp.Select) is not None


def _write_free(select: exp.Expr, columns: Sequence[Column]) -> tuple[str, list[tuple[str, str]]]:
    tables = list_sources(select, columns) if isinstance(select, exp.Select) else {}
    if not tables or len(tables) != 1 + len(select.args.get("joins") or []):
        raise BrokenRule("other_operator", "it reads the result of another query, whose rows are not traced")
    selected = [
        (alias, column)
        for alias, table in sorted(tables.items())
        for column in sorted(columns, key=lambda column: (not column.primary_key, column.name))
        if column.table == table
    ]
    source = select.copy()
    for part in ("order", "limit", "offset", "group", "having", "distinct", "windows"):
        source.set(part, None)
    cells = [exp.column(quote_name(column.name), table=quote_name(alias)) for alias, column in selected]
    source.set("expressions", cells)
    return source.sql(dialect=DIALECT), [(tables[alias], column.name) for alias, column in selected]


def write_source_query(sql: str, columns: Sequence[Column]) -> tuple[str, list[tuple[str, str]], list[int]]:
    """Write a filled query's source query in canonical SQL.

    Returns the SQL, the selected columns as (table, column), and the positions of the columns that the filled
    query projects. The positions are empty if the filled query computes a measure. The source query selects
    every column of every table: the key identifies a row, and the other columns are for display. Raises
    BrokenRule if `sql` does not have the form of GRAMMAR's queries.
    """
    select = parse_select(sql, columns)
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
        apply_readings(source_query, list_readings(columns)).sql(dialect=DIALECT),
        [(tables[alias], column.name) for alias, column in selected],
        projected,
    )


def is_measured(select: exp.Select) -> bool:
    """Return whether a query's answer is a number computed from rows, or the first row of a sorted result."""
    return bool(select.args.get("limit")) or not all(
        isinstance(expression.unalias(), exp.Column) for expression in select.expressions
    )


def find_sources(sql: str, columns: Sequence[Column], database: SafeDatabase) -> AnswerSources:
    """Return the rows that a filled query's answer comes from, and the recomputed answer.

    Memory grows with the number of rows. Raises SqlError, and BrokenRule if `sql` does not have the form of
    GRAMMAR's queries.
    """
    sources, projected = write_source_queries(sql, columns)
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], SourceRow] = {}
    answer: set[tuple[Value, ...]] = set()
    for source_query, selected in sources:
        spans = list(_list_spans(selected, columns))
        for batch in database.stream(translate(source_query, database.dialect, columns)):
            for row in batch:
                if projected:
                    answer.add(tuple(row[position] for position in projected))
                for table, names, keys, start in spans:
                    cells = tuple(zip(names, row[start:], strict=False))
                    key = tuple(cell for cell in cells if cell[0] in keys) or cells
                    if any(cell is not None for _, cell in key):  # an outer join may leave all cells empty
                        found[table, key] = SourceRow(table, key, cells)
    if not projected:
        answer = {
            row for batch in database.stream(translate(sql, database.dialect, columns)) for row in batch
        }
    rows = sorted(found.values(), key=lambda row: (row.table, [rank_value(cell) for _, cell in row.key]))
    answer_rows = sorted(answer, key=lambda row: [rank_value(cell) for cell in row])
    return AnswerSources(tuple(rows), tuple(answer_rows))


def _list_spans(
    selected: Sequence[tuple[str, str]], columns: Sequence[Column]
) -> Iterator[tuple[str, list[str], set[str], int]]:
    """Yield for each table: its name, its columns, its keys, and the position of its first selected column.

    A table that is joined with itself occurs once per alias.
    """
    start = 0
    while start < len(selected):
        table = selected[start][0]
        own = [column for column in columns if column.table == table]
        names = [name for _, name in selected[start : start + len(own)]]
        yield table, names, {column.name for column in own if column.primary_key}, start
        start += len(own)


def _read_column(node: exp.Expr, tables: dict[str, str], columns: Sequence[Column]) -> tuple[str, str]:
    """Return a projected column as (table alias, column name), in lower case. Raises BrokenRule."""
    column = node.unalias()
    if not isinstance(column, exp.Column):
        raise BrokenRule("constant", column.sql(dialect=DIALECT))
    name = column.name.lower()
    owners = {column.table for column in columns if column.name.lower() == name}
    for alias, table in tables.items():
        if column.table.lower() == alias.lower() or (not column.table and table in owners):
            return alias.lower(), name
    raise BrokenRule("unknown_name", column.sql(dialect=DIALECT))
