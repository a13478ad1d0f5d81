"""Read `dvc.lock` as plain data, without importing DVC, which takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from flows.lineage.git import Git
from tasks.errors import BadInput
from tasks.lineage.records import FileRecord, Graph, StageRecord

LOCK = "dvc.lock"


def read_graph(root: Path) -> Graph:
    """Read what `dvc.lock` records, and the state of git's working tree if there is one.

    Raises BadInput if `dvc.lock` is missing or cannot be read.
    """
    path = root / LOCK
    try:
        recorded: dict[str, Any] = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
        stages = tuple(
            _read_stage(name, record) for name, record in (recorded or {}).get("stages", {}).items()
        )
    except FileNotFoundError as error:
        raise BadInput(LOCK, "is not here: nothing has run", hint="benchloom run") from error
    except (yaml.YAMLError, AttributeError, TypeError, KeyError) as error:
        raise BadInput(
            LOCK, f"cannot be read: {str(error).splitlines()[0]}", hint="git checkout dvc.lock"
        ) from error
    git = Git(root)
    commit = git.find_head()
    changed = git.list_changed() if commit else ()
    return Graph(stages, commit, bool(changed), changed, git.find_last([LOCK]).get(LOCK) if commit else None)


def _read_stage(name: str, record: dict[str, Any]) -> StageRecord:
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
