"""Compute DVC's hashes of files and folders, cached until the file or folder changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dvc.repo import Repo
from dvc_data.hashfile import check, load
from dvc_data.hashfile.build import build
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.meta import Meta
from dvc_objects.errors import ObjectFormatError

from flows.run.node import normalise
from flows.run.record.path_marks import Mark, mark_path

ALGORITHM = "md5"


class PathHashes:
    """Hashes of paths in one project. For unchanged paths, the hashes come from DVC's state database."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.known: dict[str, tuple[Mark, tuple[Meta, HashInfo]]] = {}
        self.assumed: dict[str, tuple[Meta, HashInfo]] = {}
        """Path -> hash that the path will have after a run; overrides the current hash."""

    def find(self, path: str) -> tuple[Meta, HashInfo] | None:
        """Return the size and hash of a path relative to the project; None if the path does not exist."""
        if path in self.assumed:
            return self.assumed[path]
        # Avoid Path: creating one takes longer than looking up the hash.
        full = os.path.join(self.repo.root_dir, normalise(path))  # noqa: PTH118
        mark = mark_path(full)
        if mark is None:
            return None
        known = self.known.get(path)
        if known is not None and known[0] == mark:
            return known[1]
        fs, ignore = self.repo.fs, self.repo.dvcignore
        _, meta, built = build(self.repo.cache.local, full, fs, ALGORITHM, ignore=ignore, dry_run=True)
        found: tuple[Meta, HashInfo] = meta, built.hash_info
        self.known[path] = mark, found
        return found

    def is_cached(self, value: str) -> bool:
        """Return whether DVC's cache contains the file, or the whole folder, with the given hash."""
        cache = self.repo.cache.repo
        try:
            check(cache, load(cache, HashInfo(ALGORITHM, value)))
        except (FileNotFoundError, ObjectFormatError):
            return False
        return True


def set_hash(item: Any, found: tuple[Meta, HashInfo]) -> None:
    """Set the known hash of a DVC dependency."""
    item.meta, item.hash_info = found
    item.hash_name = ALGORITHM  # otherwise DVC assumes an older version for a new path
    item.obj = item.files = None


def parse_hash(item: Mapping[str, Any]) -> tuple[Meta, HashInfo]:
    """Read the size and hash of a path from an entry in dvc.lock or the run cache."""
    meta = Meta(size=item.get("size"), nfiles=item.get("nfiles"), isexec=bool(item.get("isexec")))
    return meta, HashInfo(ALGORITHM, item.get(ALGORITHM))
