"""Walk a figure, a row or an artifact back to the calls, source rows, files and commit it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.errors import BadInput, BenchloomError
from tasks.lineage.derivation import Selected, agree, measure_rows, select_rows
from tasks.lineage.figures import Figure, find_figure
from tasks.lineage.lookup import Tables
from tasks.lineage.nodes import Finding, Gap, Node
from tasks.lineage.provenance import Makers
from tasks.lineage.records import Archive, Graph, StageFact

Tracer = Callable[[StageFact, Mapping[str, Any]], Sequence[Finding]]
"""Finds what a row of a stage comes from beyond the artifacts: the rows of a database behind an answer."""
CALLS = ".calls.parquet"


@dataclass
class Lineage:
    """Walks from any row or figure of a project; nothing that it meets is walked twice.

    root: the folder that paths are relative to. graph: what `dvc.lock` knows; without it, walks end at
    rows and calls. archive: whether files are still what was recorded. tracers: stage -> its tracer.
    describe: what is known of a file that no stage wrote. gaps: what led nowhere, so far.
    """

    root: Path = field(default_factory=Path)
    graph: Graph | None = None
    archive: Archive | None = None
    tracers: Mapping[str, Tracer] = field(default_factory=dict)
    describe: Callable[[str], Mapping[str, Any]] = lambda path: {}
    gaps: list[Gap] = field(default_factory=list)
    tables: Tables = field(default_factory=Tables)
    _nodes: dict[tuple[str, str], Node] = field(default_factory=dict, repr=False)
    _calls: dict[Path, dict[str, Path]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._makers = Makers(self.root, self.graph, self.archive, self._report, self.describe)

    def trace_row(self, path: str, row_id: str) -> Node:
        """Walk one row of an artifact back to its sources; the beginning of its id is enough.

        Raises BadInput where there is no such row; whatever is missing further on is one of `gaps`.
        """
        return self._walk_row(path, self.tables.find_row(self.root / path, row_id), ())

    def trace_file(self, path: str) -> Node:
        """Walk a file back through the stages that wrote it."""
        return self._makers.trace_file(path)

    def trace_figure(self, path: str, pointer: str, *, row: str | None = None, first: int | None = 1) -> Node:
        """Walk a figure of a report back to the rows that it was computed from, and those to their sources.

        row: the one row to walk on from; first: else, how many of them, None for all. The figure is computed
        again from its rows where its measure is known: another value is a gap.
        Raises BadInput where there is no such figure, or the row is none of its rows.
        """
        figure = find_figure(self.root / path, pointer)
        name = f"{path}#{figure.pointer}"
        parts = self._select(figure, path, name)
        again = measure_rows(figure.basis, parts) if figure.basis and parts else None
        if figure.basis is None:
            self._report(name, "does not say which rows it was computed from")
        elif again is not None and not agree(again, figure.value):
            self._report(name, f"is {figure.value}, but its rows come to {again}", "run the report's stage")
        chosen = _choose(parts, row, first, name)
        summary = {
            "label": figure.label,
            "value": figure.value,
            "measure": figure.basis.measure if figure.basis else None,
            "column": figure.basis.column if figure.basis else None,
            "once": figure.basis.once if figure.basis else None,
            "again": again,
            "rows": [
                {
                    "artifact": self._name(each.path),
                    "where": dict(each.where),
                    "count": len(each.ids),
                    "ids": list(each.ids),
                }
                for each in parts
            ],
        }
        walked = [self._walk_row(self._name(place), row_id, ()) for place, row_id in chosen]
        files = [self._makers.trace_file(each) for each in (path, *(self._name(part.path) for part in parts))]
        return Node("figure", name, summary, (*walked, *files))

    def _select(self, figure: Figure, path: str, name: str) -> list[Selected]:
        parts = []
        for each in figure.basis.rows if figure.basis else ():
            place = self._locate(each.artifact, path)
            try:
                if place is None:
                    self._report(
                        name, f"comes from {each.artifact}.parquet, which is not there", "run the flow"
                    )
                else:
                    column = figure.basis.column if figure.basis else ""
                    parts.append(select_rows(self.root / place, each, column))
            except BadInput as error:
                self._report(name, str(error))
        return parts

    def _walk_row(self, path: str, row_id: str, above: tuple[str, ...]) -> Node:
        if path.endswith(CALLS):
            return self._take_call(row_id, path)
        reference = f"{path}#{row_id}"
        if reference in above:
            raise BadInput(path, f"{reference} is an origin of itself")
        known = self._nodes.get(("row", reference))
        if known is None:
            known = self._nodes["row", reference] = self._visit_row(path, row_id, (*above, reference))
        return known

    def _visit_row(self, path: str, row_id: str, above: tuple[str, ...]) -> Node:
        record = self.tables.read_row(self.root / path, row_id)
        origins = record.pop("origin", None) or ()
        reference = f"{path}#{row_id}"
        parents = [self._follow(each["kind"], each["reference"], path, above) for each in origins]
        stage = self.graph.find_writer(path) if self.graph else None
        if self.graph and stage is None:
            self._report(reference, f"stands in {path}, which is not in dvc.lock", "run its stage")
        if stage is not None and stage.function in self.tracers:
            parents += self._find_sources(self.tracers[stage.function], stage, record, reference)
        if stage is not None:
            parents.append(self._makers.trace_file(path))
        return Node("row", reference, record, tuple(parents))

    def _follow(self, kind: str, reference: str, path: str, above: tuple[str, ...]) -> Node:
        """Follow one origin of a row of `path`."""
        if kind == "call":
            return self._visit_call(reference, path, above[-1])
        if kind == "file":
            return self._visit_file(reference, above[-1])
        stem, mark, row_id = reference.partition("#")
        place = self._locate(stem, path) if mark else None
        if kind == "evidence" and place is None:
            return Node(kind, reference, {})
        if kind not in ("row", "evidence"):
            return self._lack(above[-1], f"comes from an origin of the unknown kind {kind!r}: {reference}")
        if place is None:
            return self._lack(
                above[-1], f"comes from the artifact {stem}.parquet, which is not there", "run the flow"
            )
        if row_id not in self.tables.index(self.root / place):
            return self._lack(
                above[-1], f"comes from {reference}, which is no row of {place}", "run the flow"
            )
        return self._walk_row(place, row_id, above)

    def _visit_call(self, key: str, path: str, at: str) -> Node:
        place = self._find_call(key, path)
        if place is None:
            return self._lack(at, f"comes from the call {key}, which is in no *{CALLS}", "run the flow")
        return self._take_call(key, place)

    def _take_call(self, key: str, path: str) -> Node:
        if ("call", key) not in self._nodes:
            record = self.tables.read_row(self.root / path, key)
            self._nodes["call", key] = self._makers.make_call(key, path, record)
        return self._nodes["call", key]

    def _visit_file(self, path: str, at: str) -> Node:
        known = self.graph.find_file(path) if self.graph else None
        if known is None and (_leads_outside(path) or not (self.root / path).exists()):
            return self._lack(at, f"comes from the file {path}, which neither exists nor stands in dvc.lock")
        return self._makers.trace_file(path)

    def _find_sources(
        self, tracer: Tracer, stage: StageFact, record: Mapping[str, Any], reference: str
    ) -> list[Node]:
        try:
            return [self._take_finding(each, reference) for each in tracer(stage, record)]
        except BenchloomError as error:
            return [self._lack(reference, f"its source rows cannot be found: {error}")]

    def _take_finding(self, finding: Finding, at: str) -> Node:
        key = (finding.kind, finding.reference)
        if key not in self._nodes:
            for gap in finding.gaps:
                self._report(finding.reference, gap)
            parents = [self._take_finding(each, finding.reference) for each in finding.findings]
            parents += [self._visit_file(each, finding.reference) for each in finding.files]
            self._nodes[key] = Node(*key, finding.summary, tuple(parents))
        return self._nodes[key]

    def _locate(self, stem: str, path: str) -> str | None:
        """Find the artifact that a row or figure of `path` calls so: beside it, by its path or its end."""
        if _leads_outside(stem):
            return None
        beside = PurePosixPath(path).parent
        for place in (beside / f"{stem}.parquet", PurePosixPath(f"{stem}.parquet"), PurePosixPath(stem)):
            if place.suffix == ".parquet" and (self.root / place).is_file():
                return place.as_posix()
        stage = self.graph.find_writer(path) if self.graph else None
        deps = [each.path for each in stage.deps] if stage else []
        fits = [
            each for each in deps if f"/{each}".endswith(f"/{stem}.parquet") and (self.root / each).is_file()
        ]
        return fits[0] if len(fits) == 1 else None

    def _find_call(self, key: str, path: str) -> str | None:
        folder = (self.root / path).parent
        known = self._index_calls(folder, sorted(folder.glob(f"*{CALLS}")))
        if key not in known and self.graph is not None:
            outs = [self.root / each for each in self.graph.list_outs() if each.endswith(CALLS)]
            known = self._index_calls(self.root, [each for each in outs if each.is_file()])
        return self._name(known[key]) if key in known else None

    def _index_calls(self, name: Path, paths: Iterable[Path]) -> dict[str, Path]:
        if name not in self._calls:
            self._calls[name] = {key: each for each in paths for key in self.tables.index(each)}
        return self._calls[name]

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _lack(self, at: str, what: str, hint: str = "") -> Node:
        self._report(at, what, hint)
        return Node("gap", f"{at}: {what}", {"hint": hint})

    def _report(self, at: str, what: str, hint: str = "") -> None:
        gap = Gap(at, what, hint)
        if gap not in self.gaps:
            self.gaps.append(gap)


def _choose(
    parts: Sequence[Selected], row: str | None, first: int | None, name: str
) -> list[tuple[Path, str]]:
    rows = [(part.path, row_id) for part in parts for row_id in part.ids]
    if row is None:
        return rows[:first]
    fits = [each for each in rows if each[1] == row] or [each for each in rows if each[1].startswith(row)]
    if len({each[1] for each in fits}) != 1:
        raise BadInput(name, f"{len(fits)} of its rows have an id that begins with {row!r}")
    return fits


def _leads_outside(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts
