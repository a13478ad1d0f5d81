"""Walk a row, or an artifact, back to the calls, files and commit that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.artifacts.graph import FileFact, Graph
from tasks.errors import BadInput

SHORTEST_PREFIX = 6
"""Fewer characters of an id than this name nothing in particular."""


@dataclass(frozen=True)
class Node:
    """One thing that a row comes from: kind is `row`, `call`, `prompt`, `evidence` or `file`.

    reference: `<artifact stem>#<row id>`, a ledger key, `<prompt>@<digest>`, or a path.
    parents: what it comes from itself; nothing for a source.
    """

    kind: str
    reference: str
    summary: Mapping[str, Any]
    parents: tuple[Node, ...] = ()


@dataclass
class Lineage:
    """The artifacts of one folder, opened as far as walks need them.

    graph: what `dvc.lock` knows; where given, a row without an origin of its own comes from the
    data files of the stage that wrote it. root: the folder that paths in origins are relative to.
    """

    folder: Path
    graph: Graph | None = None
    root: Path = field(default_factory=Path)
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    _places: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)
    _calls: dict[str, tuple[str, int]] | None = field(default=None, repr=False)
    _nodes: dict[tuple[str, str], Node] = field(default_factory=dict, repr=False)

    def trace(self, stem: str, row_id: str) -> Node:
        """Walk one row back to its sources.

        Raises BadInput where there is no such row, or where an origin on the way leads nowhere.
        """
        return self._walk("row", f"{stem}#{self.find_row(stem, row_id)}", f"{stem}#{row_id}", ())

    def find_row(self, stem: str, row_id: str) -> str:
        """Complete a row's id from its beginning; raise BadInput where it names no row, or several."""
        places = self._index(stem)
        if row_id in places:
            return row_id
        fits = [each for each in places if each.startswith(row_id)] if len(row_id) >= SHORTEST_PREFIX else []
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise BadInput(self._path(stem), f"{len(fits)} rows have an id that begins with {row_id!r}")
        some = ", ".join(list(places)[:3]) or "none: it is empty"
        raise BadInput(self._path(stem), f"has no row {row_id!r}", hint=f"its ids begin with {some}")

    def read_row(self, stem: str, row_id: str) -> dict[str, Any]:
        """Read one row by its whole id."""
        return _take(self._table(stem), self._index(stem)[row_id])

    def _walk(self, kind: str, reference: str, asked_by: str, above: tuple[str, ...]) -> Node:
        if reference in above:
            raise BadInput(self.folder, f"{reference} is an origin of itself")
        known = self._nodes.get((kind, reference))
        if known is None:
            known = self._nodes[kind, reference] = self._visit(kind, reference, asked_by, (*above, reference))
        return known

    def _visit(self, kind: str, reference: str, asked_by: str, above: tuple[str, ...]) -> Node:
        if kind == "row":
            return self._visit_row(reference, asked_by, above)
        if kind == "call":
            return self._visit_call(reference, asked_by)
        if kind == "file":
            return self._visit_file(reference, asked_by)
        if kind == "evidence":
            return Node(kind, reference, {})
        raise self._gap(asked_by, f"an origin of the unknown kind {kind!r}")

    def _visit_row(self, reference: str, asked_by: str, above: tuple[str, ...]) -> Node:
        stem, _, row_id = reference.partition("#")
        if not self._path(stem).is_file():
            raise self._gap(asked_by, f"the artifact {stem}.parquet, which is not there")
        if row_id not in self._index(stem):
            raise self._gap(asked_by, f"{reference}, which is no row of {stem}.parquet")
        record = self.read_row(stem, row_id)
        origins = record.pop("origin", None) or ()
        parents = [self._walk(each["kind"], each["reference"], reference, above) for each in origins]
        return Node("row", reference, record, tuple(parents) or tuple(self._sources_of(stem)))

    def _visit_call(self, key: str, asked_by: str) -> Node:
        place = self._index_calls().get(key)
        if place is None:
            raise self._gap(asked_by, f"the call {key}, which is in no *.calls.parquet of {self.folder}")
        record = _take(self._table(place[0]), place[1])
        prompt = Node("prompt", f"{record['prompt']}@{record['prompt_digest']}", {})
        return Node("call", key, record, (prompt,))

    def _visit_file(self, path: str, asked_by: str) -> Node:
        fact = self.graph.find_file(path) if self.graph else None
        if fact is None and not (self.root / path).exists():
            raise self._gap(asked_by, f"the file {path}, which neither exists nor stands in dvc.lock")
        return trace_file(fact or FileFact(path), self.graph)

    def _sources_of(self, stem: str) -> Iterator[Node]:
        if self.graph is None:
            return
        path = self._path(stem)
        stage = self.graph.find_writer(path.relative_to(self.root).as_posix())
        if stage is None:
            raise BadInput(path, "is not in dvc.lock", hint="run its stage")
        yield from (trace_file(each, self.graph) for each in stage.data)

    def _gap(self, asked_by: str, what: str) -> BadInput:
        return BadInput(
            self.folder, f"a gap in the lineage: {asked_by} comes from {what}", hint="run the flow"
        )

    def _path(self, stem: str) -> Path:
        return self.folder / f"{stem}.parquet"

    def _table(self, stem: str) -> pa.Table:
        if stem not in self._tables:
            try:
                table = pq.read_table(self._path(stem))
            except (OSError, pa.ArrowException) as error:
                beside = ", ".join(sorted(each.name for each in self.folder.glob("*.parquet"))) or "nothing"
                raise BadInput(
                    self._path(stem),
                    f"cannot be read as Parquet: {_first_line(error)}",
                    hint=f"there is {beside}",
                ) from error
            if "id" not in table.column_names:
                raise BadInput(self._path(stem), "has no column 'id', so no row of it can be named")
            self._tables[stem] = table
        return self._tables[stem]

    def _index(self, stem: str) -> dict[str, int]:
        if stem not in self._places:
            ids = pc.cast(self._table(stem)["id"], pa.string()).to_pylist()
            self._places[stem] = {row_id: place for place, row_id in enumerate(ids)}
        return self._places[stem]

    def _index_calls(self) -> dict[str, tuple[str, int]]:
        if self._calls is None:
            stems = [
                each.name.removesuffix(".parquet") for each in sorted(self.folder.glob("*.calls.parquet"))
            ]
            self._calls = {key: (stem, place) for stem in stems for key, place in self._index(stem).items()}
        return self._calls


def trace_file(fact: FileFact, graph: Graph | None) -> Node:
    """Walk a file back through the stages that wrote it, their code and their parameters."""
    stage = graph.find_writer(fact.path) if graph else None
    summary: dict[str, Any] = {"md5": fact.md5, "size": fact.size}
    if stage is None:
        return Node("file", fact.path, summary)
    summary |= {
        "stage": stage.name,
        "command": stage.command,
        "params": stage.params,
        "code": {each.path: each.md5 for each in stage.code},
    }
    return Node("file", fact.path, summary, tuple(trace_file(each, graph) for each in stage.data))


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all it comes from, each once, nearest first along every path."""
    seen: set[tuple[str, str]] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if (each.kind, each.reference) not in seen:
            seen.add((each.kind, each.reference))
            yield each
            waiting.extend(reversed(each.parents))


def _take(table: pa.Table, place: int) -> dict[str, Any]:
    record: dict[str, Any] = table.slice(place, 1).to_pylist()[0]
    return record


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
