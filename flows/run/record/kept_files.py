"""Back up hand-written files at a stage's output paths before the stage replaces them.

A file counts as written by a run if dvc.lock or DVC's cache contains its hash, or if the stage's last run was
interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flows.run.node import Node
from flows.run.record.lock_file import Entry
from flows.run.record.path_hashes import PathHashes
from flows.run.record.staleness import read_hashes
from tasks.files import write_text

KEPT = ".benchloom/kept"
UNFINISHED = ".benchloom/unfinished"


def keep_foreign(
    root: Path, node: Node, entry: Entry | None, hashes: PathHashes
) -> Iterator[tuple[str, str]]:
    """Back up a stage's outputs that no run wrote, by moving them. Yields each path and its new path."""
    if (root / UNFINISHED / node.name).exists():
        return
    recorded = read_hashes(entry or {}, "outs")
    for out in node.outs:
        found = hashes.find(out)
        value = found[1].value if found is not None else None
        if value is None or value == recorded.get(out) or hashes.is_cached(value):
            continue
        kept = name_kept(root / KEPT / out)
        kept.parent.mkdir(parents=True, exist_ok=True)
        (root / out).rename(kept)
        yield out, kept.relative_to(root).as_posix()


def name_kept(path: Path) -> Path:
    """Return a path that does not exist yet: the given path, or the path with a number appended."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in range(1, 10_000))
    return path if not path.exists() else next(other for other in numbered if not other.exists())


def note_begun(root: Path, name: str) -> None:
    """Record that a stage begins to write outputs; until the stage ends, its outputs are not backed up."""
    write_text(root / UNFINISHED / name, "")


def note_ended(root: Path, name: str) -> None:
    """Record that a stage has ended and its outputs are in DVC's cache."""
    (root / UNFINISHED / name).unlink(missing_ok=True)
