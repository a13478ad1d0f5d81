"""Trace a figure, a row or a file back to its calls, source rows, files and commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tasks.errors import BadInput, BenchloomError
from tasks.lineage.bases import find_record_figure
from tasks.lineage.derivation import is_same_figure, measure_rows
from tasks.lineage.figures import Figure
from tasks.lineage.location import CALLS, ArtifactLocator, leads_outside
from tasks.lineage.lookup import RowLookup
from tasks.lineage.nodes import FigureRows, Gap, LineageNode, Record, TracedSource
from tasks.lineage.provenance import Provenance
from tasks.lineage.records import FileHistory, Graph, StageRecord
from tasks.lineage.selection import SelectedRows, Selection, select_rows

Tracer = Callable[[StageRecord, Record], Sequence[TracedSource]]
"""Finds sources outside the artifacts for a stage's row, such as the database rows used for an answer."""


@dataclass
class Lineage:
    """Traces rows, figures and files of a project; each node is built once.

    `root`: the folder that paths are relative to. `graph`: the contents of `dvc.lock`; if None, traces end
    at rows and calls. `history`: the state of recorded files. `tracers`: stage -> its tracer. `describe`:
    function that returns further details of a file, such as its package. `gaps`: references that could not be
    resolved. `installed`: the code's folder, if the code is not in `root`.
    """

    root: Path = field(default_factory=Path)
    graph: Graph | None = None
    history: FileHistory | None = None
    tracers: Mapping[str, Tracer] = field(default_factory=dict)
    describe: Callable[[str], Mapping[str, object]] = lambda path: {}
    gaps: list[Gap] = field(default_factory=list)
    lookup: RowLookup = field(default_factory=RowLookup)
    installed: Path | None = None
    _nodes: dict[tuple[str, str], LineageNode] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._provenance = Provenance(
            self.root, self.graph, self.history, self._report, self.describe, self.installed
        )
        self._locator = ArtifactLocator(self.root, self.graph, self.lookup)

    def trace_row(self, path: str, row_id: str) -> LineageNode:
        """Trace one row of an artifact; row_id may be a prefix.

        Raises BadInput if no row matches. Missing sources of the row are added to `gaps`.
        """
        return self._trace_row(path, self.lookup.complete_id(self.root / path, row_id), ())

    def trace_file(self, path: str) -> LineageNode:
        """Trace a file through the stages that wrote it."""
        return self._provenance.trace_file(path)

    def trace_figure(
        self, path: str, pointer: str, *, row: str | None = None, first: int | None = 1
    ) -> LineageNode:
        """Trace a figure to its source rows, and trace some of these rows to their sources.

        `pointer`: the figure's JSON pointer. `row`: the id, or a unique prefix of the id, of the only row to
        trace further. `first`: the number of rows to trace further if `row` is None; None traces all rows.

        If the measure is known, the figure is recomputed from its rows, and a different value is reported as
        a gap. Raises BadInput if the figure does not exist, or if `row` does not match exactly one of its
        rows.
        """
        figure = find_record_figure(self.root / path, pointer)
        derivation = figure.derivation
        name = f"{path}#{figure.pointer}"
        parts = self._select_rows(figure, path, name)
        again = measure_rows(derivation, parts) if derivation and parts else None
        if derivation is None:
            self._report(name, "does not record the rows from which it was computed")
        elif again is not None and not is_same_figure(figure.value, again):
            self._report(
                name,
                f"is {figure.value}, but recomputing it from its rows gives {again}",
                "run the report's stage",
            )
        chosen = _choose_rows(parts, row, first, name)
        summary = {
            "label": figure.label,
            "value": figure.value,
            "measure": derivation.measure if derivation else None,
            "column": derivation.column if derivation else None,
            "once": derivation.once if derivation else None,
            "again": again,
            "rows": [self._summarise_rows(part) for part in parts],
        }
        rows = [self._trace_row(self._locator.relate(file), row_id, ()) for file, row_id in chosen]
        artifacts = [self._locator.relate(part.path) for part in parts]
        files = [self._provenance.trace_file(file) for file in (path, *artifacts)]
        return LineageNode("figure", name, summary, (*rows, *files))

    def _summarise_rows(self, part: SelectedRows) -> FigureRows:
        return {
            "artifact": self._locator.relate(part.path),
            "where": {name: list(v) if isinstance(v, tuple) else v for name, v in part.where.items()},
            "count": len(part.ids),
            "ids": list(part.ids),
        }

    def _select_rows(self, figure: Figure, path: str, name: str) -> list[SelectedRows]:
        if figure.derivation is None:
            return []
        chosen = [self._select(rows, figure.derivation.column, path, name) for rows in figure.derivation.rows]
        return [part for part in chosen if part is not None]

    def _select(self, selection: Selection, column: str, path: str, name: str) -> SelectedRows | None:
        """Select rows of an artifact, filtered by joined artifacts.

        Reports a gap and returns None if an artifact is missing or cannot be read.
        """
        artifact = self._locator.find_artifact(selection.artifact, path)
        if artifact is None:
            what = f"comes from {selection.artifact}.parquet, which does not exist"
            self._report(name, what, "run the flow")
            return None
        joined = {}
        for through, other in selection.through.items():
            found = self._select(other, "", path, name)
            if found is None:
                return None
            joined[through] = found.ids
        try:
            return select_rows(self.root / artifact, selection, column, joined)
        except BadInput as error:
            self._report(name, str(error))
            return None

    def _trace_row(self, path: str, row_id: str, descendants: tuple[str, ...]) -> LineageNode:
        """Trace a row. Raises BadInput for a row that is among its own sources.

        `descendants`: references of the rows on the path from the target to this row, without this row.
        """
        if path.endswith(CALLS):
            return self._read_call(row_id, path)
        reference = f"{path}#{row_id}"
        if reference in descendants:
            raise BadInput(path, f"{reference} is among its own sources")
        node = self._nodes.get(("row", reference))
        if node is None:
            node = self._make_row(path, row_id, (*descendants, reference))
            self._nodes[node.key] = node
        return node

    def _make_row(self, path: str, row_id: str, descendants: tuple[str, ...]) -> LineageNode:
        record = self.lookup.read_row(self.root / path, row_id)
        origins = cast("Sequence[Mapping[str, str]]", record.pop("origin", None) or ())
        reference = f"{path}#{row_id}"
        parents = [
            self._follow_origin(origin["kind"], origin["reference"], path, descendants) for origin in origins
        ]
        stage = self.graph.find_writer(path) if self.graph else None
        if self.graph and stage is None:
            self._report(reference, f"is in {path}, which is not listed in dvc.lock", "run its stage")
        if stage is not None and stage.function in self.tracers:
            parents += self._trace_sources(self.tracers[stage.function], stage, record, reference)
        if stage is not None:
            parents.append(self._provenance.trace_file(path))
        return LineageNode("row", reference, record, tuple(parents))

    def _follow_origin(
        self, kind: str, reference: str, path: str, descendants: tuple[str, ...]
    ) -> LineageNode:
        """Trace one origin of a row in the artifact `path`.

        The last element of `descendants` is the reference of the row.
        """
        at = descendants[-1]
        if kind == "call":
            return self._trace_call(reference, path, at)
        if kind == "file":
            return self._trace_origin_file(self._locator.find_file(reference, path), at)
        stem, mark, row_id = reference.partition("#")
        artifact = self._locator.find_artifact(stem.removesuffix(".parquet"), path) if mark else None
        if kind == "evidence" and (artifact is None or not self.lookup.has_ids(self.root / artifact)):
            files = (self._provenance.trace_file(artifact),) if artifact else ()
            return LineageNode(kind, reference, {}, files)
        if kind not in ("row", "evidence"):
            return self._make_gap(at, f"has an origin of the unknown kind {kind!r}: {reference}")
        if artifact is None:
            return self._make_gap(
                at, f"comes from the artifact {stem}.parquet, which does not exist", "run the flow"
            )
        if row_id not in self.lookup.index(self.root / artifact):
            return self._make_gap(
                at, f"comes from {reference}, which is not a row of {artifact}", "run the flow"
            )
        return self._trace_row(artifact, row_id, descendants)

    def _trace_call(self, call_key: str, path: str, at: str) -> LineageNode:
        artifact = self._locator.find_calls(call_key, path)
        if artifact is None:
            return self._make_gap(
                at, f"comes from the call {call_key}, which is not in any file *{CALLS}", "run the flow"
            )
        return self._read_call(call_key, artifact)

    def _read_call(self, call_key: str, path: str) -> LineageNode:
        key = ("call", call_key)
        if key not in self._nodes:
            record = self.lookup.read_row(self.root / path, call_key)
            self._nodes[key] = self._provenance.make_call(call_key, path, record)
        return self._nodes[key]

    def _trace_origin_file(self, path: str, at: str) -> LineageNode:
        recorded = self.graph.find_file(path) if self.graph else None
        if recorded is None and (leads_outside(path) or not (self.root / path).exists()):
            return self._make_gap(
                at, f"comes from the file {path}, which does not exist and is not listed in dvc.lock"
            )
        return self._provenance.trace_file(path)

    def _trace_sources(
        self, tracer: Tracer, stage: StageRecord, record: Record, reference: str
    ) -> list[LineageNode]:
        try:
            return [self._make_source(source) for source in tracer(stage, record)]
        except BenchloomError as error:
            return [self._make_gap(reference, f"its source rows cannot be found: {error}")]

    def _make_source(self, source: TracedSource) -> LineageNode:
        key = (source.kind, source.reference)
        if key not in self._nodes:
            for gap in source.gaps:
                self._report(source.reference, gap)
            parents = [self._make_source(parent) for parent in source.parents]
            parents += [self._trace_origin_file(file, source.reference) for file in source.files]
            self._nodes[key] = LineageNode(*key, source.summary, tuple(parents))
        return self._nodes[key]

    def _make_gap(self, at: str, what: str, hint: str = "") -> LineageNode:
        self._report(at, what, hint)
        return LineageNode("gap", f"{at}: {what}", {"hint": hint})

    def _report(self, at: str, what: str, hint: str = "") -> None:
        gap = Gap(at, what, hint)
        if gap not in self.gaps:
            self.gaps.append(gap)


def _choose_rows(
    parts: Sequence[SelectedRows], row: str | None, first: int | None, name: str
) -> list[tuple[Path, str]]:
    """Return (path, id) for each of a figure's first rows, or for the row whose id begins with `row`.

    `first`: the number of rows if `row` is None; None returns all rows. Raises BadInput if `row` is given but
    does not match exactly one id.
    """
    rows = [(part.path, row_id) for part in parts for row_id in part.ids]
    if row is None:
        return rows[:first]
    # An exact id takes precedence over longer ids that begin with the same characters.
    fits = [found for found in rows if found[1] == row] or [
        found for found in rows if found[1].startswith(row)
    ]
    if len({row_id for _, row_id in fits}) != 1:
        raise BadInput(name, f"{len(fits)} rows have an id that begins with {row!r}")
    return fits
