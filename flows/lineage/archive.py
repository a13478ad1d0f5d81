"""Check by hash whether recorded files have changed, and find the commits that contain them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from flows.lineage.git import Git
from tasks.lineage.records import CODE, FileRecord, Graph

LARGEST = 256 << 20
"""Maximum size in bytes of a file that is compared by hash; larger files are compared only by size."""
VERSIONS = 100
"""Maximum number of a file's commits that are searched for the recorded content."""


@dataclass
class Archive:
    """Checks a project's files against their records, and remembers the result for each record.

    The class implements `tasks.lineage.records.FileHistory`. `installed`: the folder that contains the
    running code, if the code is not in the project.
    """

    root: Path
    graph: Graph
    installed: Path | None = None
    _states: dict[FileRecord, str] = field(default_factory=dict, repr=False)
    _older: dict[FileRecord, str | None] = field(default_factory=dict, repr=False)

    def check(self, record: FileRecord) -> str:
        """Compare a file with its record: return `same`, `changed`, `missing` or `unchecked`.

        The result is `unchecked` if the record has no hash, or if a file larger than `LARGEST` has its
        recorded size.
        """
        if record not in self._states:
            self._states[record] = self._compare(record)
        return self._states[record]

    def find_commit(self, record: FileRecord) -> str | None:
        """Find a commit that contains the file with its recorded hash; return None if there is none.

        If the file matches its record and has no uncommitted changes, the result is the last commit
        that changed the file. Otherwise the file's last `VERSIONS` commits are searched.
        """
        if self.graph.commit is None:
            return None
        touched = any(
            changed == record.path or changed.startswith(f"{record.path}/")
            for changed in self.graph.uncommitted
        )
        if self.check(record) == "same" and not touched:
            return self._last.get(record.path)
        if record not in self._older:
            versions = Git(self.root).list_versions(record.path, VERSIONS)
            self._older[record] = next(
                (commit for commit, files in versions if _hash(files) == record.md5), None
            )
        return self._older[record]

    @cached_property
    def _last(self) -> Mapping[str, str]:
        return Git(self.root).find_last(self.graph.list_code())

    def _compare(self, record: FileRecord) -> str:
        is_code = record.path.startswith(CODE)
        path = (self.installed if self.installed is not None and is_code else self.root) / record.path
        if not path.exists():
            return "missing"
        if record.md5 is None:
            return "unchecked"
        if path.is_dir():
            return "same" if hash_path(path) == record.md5 else "changed"
        size = path.stat().st_size
        if record.size is not None and size != record.size:
            return "changed"
        if size > LARGEST:
            return "unchecked"
        return "same" if hash_path(path) == record.md5 else "changed"


def _hash(files: Mapping[str, bytes]) -> str:
    md5s = {name: hashlib.md5(content, usedforsecurity=False).hexdigest() for name, content in files.items()}
    return md5s[""] if set(md5s) == {""} else _hash_listing(md5s)


def hash_path(path: Path) -> str:
    """Return the MD5 of a file or a folder as DVC computes it."""
    if path.is_dir():
        files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
        return _hash_listing({name: _hash_file(file) for name, file in files.items()})
    return _hash_file(path)


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _hash_listing(md5s: Mapping[str, str]) -> str:
    """Return the MD5 of a folder as DVC computes it, from the JSON list of its files and their hashes."""
    listing = [{"md5": md5s[name], "relpath": name} for name in sorted(md5s)]
    return (
        hashlib.md5(json.dumps(listing, sort_keys=True).encode(), usedforsecurity=False).hexdigest() + ".dir"
    )
