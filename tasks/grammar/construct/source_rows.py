"""Trace a semantic group to the database rows behind it, and to the raw rows that those were made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tasks.artifacts.parquet import read_rows
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import BadInput
from tasks.grammar.construct.source_queries import SourceRow, find_sources
from tasks.grammar.construct.sql_reading import BrokenRule
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
