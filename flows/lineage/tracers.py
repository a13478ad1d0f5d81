"""Trace sources outside the artifacts: database rows, and the raw rows from which they were imported.

Artifact rows, calls and files are traced elsewhere. To trace another kind of source, add a tracer to
`open_tracers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows.settings import load_params, parse_database
from tasks.lineage.nodes import TracedSource
from tasks.lineage.records import Graph, StageRecord
from tasks.lineage.walk import Tracer


@contextmanager
def open_tracers(root: Path, graph: Graph) -> Iterator[Mapping[str, Tracer]]:
    """Yield the tracers by stage name; databases are opened on demand, and closed when the block ends."""
    opened: list[Any] = []

    def trace_group(stage: StageRecord, record: Mapping[str, object]) -> Sequence[TracedSource]:
        if not opened:
            opened.append(_open_source_rows(root, graph))
        found: Sequence[TracedSource] = opened[0](stage, record)
        return found

    try:
        yield {"grammar.fill_in": trace_group}
    finally:
        for tracer in opened:
            tracer.close()


def _open_source_rows(root: Path, graph: Graph) -> Any:
    from tasks.grammar.construct.source_rows import SourceRowTracer

    params = load_params(root)
    raw = RawRows(root, graph)
    return SourceRowTracer(root, lambda name: parse_database(params, name), raw.find)


class RawRows:
    """Finds the raw rows from which an importer made the rows of a database."""

    def __init__(self, root: Path, graph: Graph) -> None:
        self._root, self._graph = root, graph

    def find(self, path: str, table: str, cells: Mapping[str, object]) -> list[TracedSource]:
        """Find the raw rows of a database row; empty if no importer of this project wrote the database."""
        from tasks.sources.raw_rows import FINDERS

        stage = self._graph.find_writer(path)
        finder = FINDERS.get(stage.function) if stage else None
        if stage is None or finder is None:
            return []
        raw = [self._root / file.path for file in stage.data]
        found = finder(raw, self._root / path, table, cells)
        if not found:
            place = f"{path}#{table}"
            return [
                TracedSource(
                    "raw", place, gaps=(f"its raw rows are not in {', '.join(file.name for file in raw)}",)
                )
            ]
        return [
            TracedSource(
                "raw",
                f"{row.file.relative_to(self._root).as_posix()}#{row.place}",
                {"row": dict(row.cells)} | ({"or_any_of": row.more} if row.more else {}),
                files=(row.file.relative_to(self._root).as_posix(),),
            )
            for row in found
        ]
