"""Open a nightly run's record, from its branch and DVC's cache, to trace the run's figures."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from flows.comparing.places import open_cache
from flows.lineage.git import Git
from flows.lineage.lock import read_graph, read_stage
from flows.night_settings import BRANCH, FOLDER
from flows.nights.history import NIGHT
from flows.nights.night_rows import place_earlier
from flows.nights.worktree import run_git
from flows.run.record.lock_file import LOCK, LockFile
from tasks.errors import BadInput
from tasks.lineage.records import FileRecord, Graph, StageRecord


def name_night(path: str) -> str:
    """Return a nightly run's label from the path of its record; '' for any other path."""
    pure = PurePosixPath(path)
    is_record = pure.name == NIGHT and pure.parent.parent.as_posix() == FOLDER
    return pure.parent.name if is_record else ""


@contextmanager
def open_recorded(home: Path, label: str) -> Iterator[tuple[Path, Graph]]:
    """Open a nightly run as a temporary project during the block; yield its root and its recorded stages.

    Artifacts are links into DVC's cache. If the run was compared with an earlier run, that run's artifacts
    are linked below data/nightly/LABEL/tree/. Raises BadInput if a run's branch is missing.
    """
    _require_branch(home, label)
    record = home / FOLDER / label / NIGHT
    text = record.read_text(encoding="utf-8")
    against = json.loads(text).get("against")
    above = home / ".benchloom" / "lineage"
    above.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{label}-", dir=above)).resolve()
    try:
        run_git(home, "worktree", "add", "--quiet", "--detach", str(folder / "tree"), _name_branch(label))
        root = folder / "tree" / run_git(home, "rev-parse", "--show-prefix")
        graph = read_graph(root)
        find = open_cache(home)
        _link_outs(root, graph.stages, find)
        _link_given(home, root, graph)
        if against:
            earlier = _read_earlier(home, folder, against, graph, text)
            _link_outs(root, earlier, find)
            graph = replace(graph, stages=(*graph.stages, *earlier))
        _link(record, root / FOLDER / label / NIGHT)
        yield root, graph
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        run_git(home, "worktree", "prune")


def _name_branch(label: str) -> str:
    return f"refs/heads/{BRANCH}{label}"


def _require_branch(home: Path, label: str) -> None:
    if Git(home).find_commit(_name_branch(label)) is None:
        raise BadInput(
            f"{BRANCH}{label}",
            "the branch does not exist, but this nightly run was recorded on it",
            hint="if the branch was pushed, get it with git fetch",
        )


def _read_earlier(home: Path, folder: Path, label: str, later: Graph, record: str) -> tuple[StageRecord, ...]:
    """Return the stages of an earlier nightly run that the lineage of a later run needs.

    A stage is needed if one of its outputs differs from the later run's output, or if the later run's record
    refers to one of its outputs. `place_earlier` determines the new paths of the outputs. `label`: the
    earlier run's label. `record`: text of the later run's record.
    """
    _require_branch(home, label)
    (folder / LOCK).write_bytes(Git(home).read_file(_name_branch(label), LOCK) or b"")
    stages = [read_stage(name, entry) for name, entry in LockFile(folder / LOCK).read().items()]
    now = {out.path: out.md5 for stage in later.stages for out in stage.outs}
    other = [
        stage
        for stage in stages
        if any(
            now.get(out.path) != out.md5 or place_earlier(label, out.path.removesuffix(".parquet")) in record
            for out in stage.outs
        )
    ]
    moved = {out.path for stage in other for out in stage.outs}

    def move(files: Iterable[FileRecord]) -> tuple[FileRecord, ...]:
        return tuple(
            replace(file, path=place_earlier(label, file.path)) if file.path in moved else file
            for file in files
        )

    return tuple(
        replace(stage, name=f"{stage.name} of night {label}", deps=move(stage.deps), outs=move(stage.outs))
        for stage in other
    )


def _link_outs(root: Path, stages: Iterable[StageRecord], find: Callable[[str], Path]) -> None:
    """Link outputs from DVC's cache; an output that the cache lacks becomes a gap in the lineage."""
    for out in (out for stage in stages for out in stage.outs if out.md5):
        source = find(out.md5 or "")
        if not source.is_file():
            continue
        if (out.md5 or "").endswith(".dir"):
            for part in json.loads(source.read_bytes()):
                _link(find(part["md5"]), root / out.path / part["relpath"])
        else:
            _link(source, root / out.path)


def _link_given(home: Path, root: Path, graph: Graph) -> None:
    """Link the project's current files that no stage wrote; lineage checks them against recorded hashes."""
    outs = set(graph.list_outs())
    for dep in {dep.path for stage in graph.stages for dep in stage.data} - outs:
        if not PurePosixPath(dep).is_absolute() and (home / dep).exists():
            _link(home / dep, root / dep)


def _link(source: Path, target: Path) -> None:
    if not target.exists() and not target.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.resolve())
