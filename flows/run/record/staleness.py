"""Explain why a stage is stale, from dvc.yaml, dvc.lock and the files on disk.

The results equal the output of `dvc status` (a test compares the two), but this module creates no DVC
objects for paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import dpath
from dvc.repo import Repo
from dvc.utils.serialize import load_path

from flows.run.node import Node, normalise
from flows.run.record.lock_file import Entry
from flows.run.record.path_hashes import ALGORITHM, PathHashes
from flows.run.record.path_marks import Mark, mark_path

NEVER = "has not been run"
MISSING = object()


class Staleness:
    """Compares stages with their records in dvc.lock."""

    def __init__(self, repo: Repo, hashes: PathHashes) -> None:
        self.repo, self.hashes = repo, hashes
        self.files: dict[str, tuple[Mark | None, Any]] = {}
        self.values: dict[tuple[str, str], tuple[Mark | None, Any]] = {}

    def explain(self, node: Node, entry: Entry | None) -> list[str]:
        """Return the reasons why a stage is stale; empty if the stage is fresh."""
        if entry is None:
            return [NEVER]
        return [
            *self._compare_deps(node, entry),
            *self._compare_params(node, entry),
            *self._compare_outs(node, entry),
            *(["its command or paths changed"] if entry.get("cmd") != node.command else []),
        ]

    def are_inputs_recorded(self, node: Node, entry: Entry) -> bool:
        """Return whether a stage's dependencies and parameters are the same as in its record."""
        return not [*self._compare_deps(node, entry), *self._compare_params(node, entry)]

    def read_values(self, path: str, names: Iterable[str]) -> dict[str, Any]:
        """Read parameters from a file by their dotted names; missing parameters are omitted."""
        values = {name: self._find_value(path, name) for name in names}
        return {name: value for name, value in values.items() if value is not MISSING}

    def _compare_deps(self, node: Node, entry: Entry) -> Iterator[str]:
        recorded = read_hashes(entry, "deps")
        for path in node.deps:
            found = self.hashes.find(path)
            if found is None:
                yield f"{path} deleted"
            elif found[1].value != recorded.get(path):
                yield f"{path} modified"

    def _compare_params(self, node: Node, entry: Entry) -> Iterator[str]:
        recorded = {normalise(path): values for path, values in (entry.get("params") or {}).items()}
        for path, names in node.settings.items():
            before = recorded.get(path)
            if mark_path(self._full(path)) is None:
                yield f"{path} deleted"
            elif before is None:
                yield f"{path} new"
            else:
                now = self.read_values(path, names)
                for name in names:
                    if name not in now:
                        yield f"{name} in {path} deleted"
                    elif name not in before:
                        yield f"{name} in {path} new"
                    elif now[name] != before[name]:
                        yield f"{name} in {path} modified"

    def _compare_outs(self, node: Node, entry: Entry) -> Iterator[str]:
        recorded = read_hashes(entry, "outs")
        for path in node.outs:
            before, found = recorded.get(path), self.hashes.find(path)
            if before and not self.hashes.is_cached(before):
                yield f"{path} not in cache"
            elif found is None:
                yield f"{path} deleted"
            elif found[1].value != before:
                yield f"{path} modified"

    def _find_value(self, path: str, name: str) -> Any:
        """Return a parameter by its dotted name, as DVC does; MISSING if the file lacks the parameter."""
        mark = mark_path(self._full(path))
        known = self.values.get((path, name))
        if known is None or known[0] != mark:
            known = self.values[path, name] = mark, find_value(self._load(path, mark), name)
        return known[1]

    def _load(self, path: str, mark: Mark | None) -> Any:
        known = self.files.get(path)
        if known is None or known[0] != mark:
            known = self.files[path] = mark, load_path(self._full(path), self.repo.fs)
        return known[1]

    def _full(self, path: str) -> str:
        return os.path.join(self.repo.root_dir, path)  # noqa: PTH118 - called thousands of times


def find_value(data: Any, name: str) -> Any:
    """Return a value by its dotted name, as DVC does; MISSING if there is no such value.

    If the name contains a pattern or a list index, DVC's library searches every value of the file.
    """
    value = data
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            break
        value = value[key]
    else:
        return value
    try:
        return dpath.get(data, name, separator=".")
    except KeyError:
        return MISSING


def read_hashes(entry: Entry, part: str) -> dict[str, str | None]:
    """Return path -> recorded hash for one part of an entry. `part`: `deps` or `outs`."""
    return {normalise(item["path"]): item.get(ALGORITHM) for item in entry.get(part) or ()}
