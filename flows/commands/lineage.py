"""Implement `benchloom lineage`: trace a figure, an artifact or a row back to its sources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import flows
from flows.lineage.evaluated import RECORD, add_evaluation
from flows.lineage.lock import read_graph
from flows.run.record.lock_file import LOCK
from tasks.errors import BadInput
from tasks.lineage.records import Graph
from tasks.lineage.result import LineageResult
from tasks.lines import say_line
from tasks.models.work_board import WORK

if TYPE_CHECKING:
    from tasks.lineage.walk import Lineage

FOLDER = ".benchloom/lineage"
"""The default folder for pages and events; `--out` overrides it."""
WALKED = 1
"""Number of rows behind a figure that are traced to their sources, unless `--all` is given."""


def lineage_command(
    target: str,
    row: str | None = None,
    *,
    root: Path,
    every: bool = False,
    as_json: bool = False,
    html: bool = False,
    openlineage: bool = False,
    out: Path | None = None,
) -> int:
    """Run `benchloom lineage`; return the exit code, 1 if there is a gap.

    Raises BadInput, with the known names, if the target or the row is unknown.
    """
    # pyarrow is imported here to keep `--help` fast.
    from tasks.lineage.rendering import render_json, render_text

    lineage = trace_target(target, row, root, every=every)
    if html:
        from tasks.reports.lineage_page import write_lineage

        page = out or root / FOLDER / f"{_name_file(lineage.target)}.html"
        write_lineage(lineage, page)
        print(page)
    if openlineage:
        from flows.lineage.openlineage import emit_events

        print(emit_events(lineage, root, out if out and not html else root / FOLDER / "openlineage.jsonl"))
    if as_json:
        print(render_json(lineage))
    elif not html and not openlineage:
        print(render_text(lineage))
    for gap in lineage.gaps:
        say_line(f"gap: {gap}")
    return 1 if lineage.gaps else 0


def trace_target(target: str, row: str | None, root: Path, *, every: bool = False) -> LineageResult:
    """Trace a target back to its sources. Raises BadInput if the target or the row is unknown.

    `target`: an artifact's path in the project, `report.json#/pointer`, or `dvc.lock` for all recorded
    artifacts. `every`: whether to trace all rows of an artifact or a figure.
    """
    root = root.resolve()
    name, mark, pointer = target.partition("#")
    path = _place(name, root)
    with open_record(path, root) as (root, graph), open_lineage(root, graph) as lineage:
        if mark:
            if not (root / path).is_file():
                raise BadInput(target, "is not a report file", hint=_name_outs(graph, path))
            nodes = [lineage.trace_figure(path, pointer, row=row, first=None if every else WALKED)]
        elif row is not None or every:
            if not (root / path).is_file() or not path.endswith(".parquet"):
                raise BadInput(target, "is not an artifact with row ids", hint=_name_outs(graph, path))
            ids = [row] if row is not None else list(lineage.lookup.index(root / path))
            nodes = [lineage.trace_row(path, row) for row in WORK.iterate(f"lineage of {path}", ids, "rows")]
        elif path == LOCK:
            outs = list(graph.list_outs())
            nodes = [lineage.trace_file(out) for out in WORK.iterate("lineage", outs, "files")]
        else:
            if graph.find_file(path) is None:
                raise BadInput(target, f"is not in {LOCK}", hint=_name_outs(graph, path))
            nodes = [lineage.trace_file(path)]
        name = nodes[0].reference if len(nodes) == 1 else path
        return LineageResult(name, tuple(nodes), tuple(lineage.gaps), graph)


@contextmanager
def open_record(path: str, root: Path) -> Iterator[tuple[Path, Graph]]:
    """Yield the folder that contains a file's records, and the graph of recorded stages.

    The graph is read from `dvc.lock`. For a file in an evaluation's folder, the evaluation is added to the
    graph. For a nightly run's record, the folder is a temporary worktree of the run's branch. Raises BadInput
    if a record is missing.
    """
    from flows.nights.recorded import name_night, open_recorded

    if (label := name_night(path)) and (root / path).is_file():
        with open_recorded(root, label) as recorded:
            yield recorded
        return
    folder = Path(path).parent.as_posix()
    required = not (root / folder / RECORD).is_file()
    yield root, add_evaluation(read_graph(root, required=required), root, folder)


@contextmanager
def open_lineage(root: Path, graph: Graph) -> Iterator[Lineage]:
    """Yield a project's lineage with access to artifacts, files, git and databases."""
    from flows.lineage.archive import Archive
    from flows.lineage.tracers import open_tracers
    from tasks.lineage.walk import Lineage
    from tasks.sources.packages import describe_packaged

    # Outside a project, the installed code wrote the outputs of `benchloom evaluate`.
    installed = None if (root / "params.yaml").is_file() else Path(flows.__file__).parents[1]
    with open_tracers(root, graph) as tracers:
        archive = Archive(root, graph, installed)
        yield Lineage(root, graph, archive, tracers, describe_packaged, installed=installed)


def _place(target: str, root: Path) -> str:
    # Do not resolve links: an artifact may be a link into DVC's cache.
    path = Path(target)
    path = path if path.is_absolute() else Path.cwd() / path
    try:
        return Path(*path.relative_to(root).parts).as_posix()
    except ValueError:
        return path.as_posix() if path.is_file() else Path(target).as_posix()


def _name_outs(graph: Graph, path: str) -> str:
    near = [out for out in graph.list_outs() if Path(out).name == Path(path).name] or graph.list_outs()
    return "known: " + (", ".join(near[:6]) + (", ..." if len(near) > 6 else "") if near else "none")


def _name_file(reference: str) -> str:
    """Convert the reference of a lineage node to a file name."""
    kept = "".join(
        sign if sign.isalnum() or sign in "-_." else "_" for sign in reference.removeprefix("data/")
    )
    return kept[:120]
