"""Read `dvc.lock` as plain data, without importing DVC, which takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.lineage.git import Git
from flows.run.record.lock_file import KEPT_ENTRIES, LOCK, LockFile
from tasks.errors import BadInput
from tasks.lineage.records import FileRecord, Graph, StageRecord


def read_graph(root: Path, *, required: bool = True) -> Graph:
    """Read the stages that `dvc.lock` records, and the state of git's working tree if there is one.

    Raises BadInput if `dvc.lock` cannot be read, or if `required` is true and the file is missing.
    """
    path = root / LOCK
    if required and not path.is_file():
        raise BadInput(LOCK, "does not exist, because no stage has run", hint="run `benchloom run`")
    stages = tuple(
        read_stage(name, entry) for name, entry in LockFile(path, root / KEPT_ENTRIES).read().items()
    )
    git = Git(root)
    commit = git.find_head()
    changed = git.list_changed() if commit else ()
    return Graph(stages, commit, bool(changed), changed, git.find_last([LOCK]).get(LOCK) if commit else None)


def read_stage(name: str, record: dict[str, Any]) -> StageRecord:
    """Make the record of a stage from its entry in `dvc.lock`."""
    params = {
        key: value for group in record.get("params", {}).values() for key, value in (group or {}).items()
    }
    return StageRecord(
        name,
        str(record.get("cmd", "")),
        tuple(_read_file(dep) for dep in record.get("deps", ())),
        tuple(_read_file(out) for out in record.get("outs", ())),
        params,
    )


def _read_file(record: dict[str, Any]) -> FileRecord:
    return FileRecord(record["path"], record.get("md5"), record.get("size"))
