"""Define records of the stages and files in `dvc.lock` as plain data; flows/lineage/ reads `dvc.lock`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Protocol

CODE = ("tasks/", "flows/", "pyproject.toml")
"""Path prefixes of dependencies that are code, prompts or pinned versions; all other dependencies are
data."""


@dataclass(frozen=True)
class FileRecord:
    """A file or folder, by its path in the project. `md5`: DVC's hash. `size`: size in bytes."""

    path: str
    md5: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class StageRecord:
    """The recorded run of a stage. `params`: dotted name -> value."""

    name: str
    command: str
    deps: tuple[FileRecord, ...] = ()
    outs: tuple[FileRecord, ...] = ()
    params: Mapping[str, object] = field(default_factory=dict)

    @property
    def data(self) -> tuple[FileRecord, ...]:
        """Return the dependencies that are data."""
        return tuple(file for file in self.deps if not file.path.startswith(CODE))

    @property
    def code(self) -> tuple[FileRecord, ...]:
        """Return the dependencies that are code, prompts or pinned versions."""
        return tuple(file for file in self.deps if file.path.startswith(CODE))

    @property
    def function(self) -> str:
        """Return NAME from the stage's command `benchloom stage NAME [KEY]`; empty for any other command."""
        words = self.command.split()
        return words[2] if words[:2] == ["benchloom", "stage"] and len(words) > 2 else ""

    @property
    def key(self) -> str:
        """Return KEY from the stage's command, such as a database's name; empty if the stage has none."""
        words = self.command.split()
        return words[3] if self.function and len(words) > 3 else ""


@dataclass(frozen=True)
class Graph:
    """All recorded stages, and the state of git's working tree.

    `commit`: the working tree's commit, or None if there is no git repository or no commit. `dirty`: whether
    tracked files have uncommitted changes. `uncommitted`: the paths of the tracked files with uncommitted
    changes. `recorded_in`: the commit in which `dvc.lock` was last committed.
    """

    stages: tuple[StageRecord, ...]
    commit: str | None = None
    dirty: bool = False
    uncommitted: tuple[str, ...] = ()
    recorded_in: str | None = None

    @cached_property
    def _writers(self) -> dict[str, tuple[StageRecord, FileRecord]]:
        return {out.path: (stage, out) for stage in self.stages for out in stage.outs}

    @cached_property
    def _deps(self) -> dict[str, FileRecord]:
        return {dep.path: dep for stage in self.stages for dep in stage.deps}

    def find_writer(self, path: str) -> StageRecord | None:
        """Find the stage that wrote a path or one of its parent folders; None if no stage did."""
        found = self._find_out(path)
        return found[0] if found else None

    def find_file(self, path: str) -> FileRecord | None:
        """Find the record of a path: an output, a dependency, or the output folder that contains it."""
        found = self._find_out(path)
        written = found[1] if found else None
        return written if written and written.path == path else self._deps.get(path, written)

    def list_outs(self) -> list[str]:
        """List the paths of all outputs, sorted."""
        return sorted(self._writers)

    def list_code(self) -> list[str]:
        """List the paths of all code, prompts and pinned versions, sorted."""
        return sorted({file.path for stage in self.stages for file in stage.code})

    def _find_out(self, path: str) -> tuple[StageRecord, FileRecord] | None:
        for place in (PurePosixPath(path), *PurePosixPath(path).parents):
            if place.as_posix() in self._writers:
                return self._writers[place.as_posix()]
        return None


class FileHistory(Protocol):
    """The current state of recorded files: whether they have changed, and which commits contain them."""

    def check(self, record: FileRecord) -> str:
        """Compare a file with its record: `same`, `changed` or `missing`.

        Returns `unchecked` if no hash is recorded, or if the file is too large to hash.
        """
        ...

    def find_commit(self, record: FileRecord) -> str | None:
        """Find a commit in which the file has the recorded hash.

        Returns None if there is no such commit, or if git is not available.
        """
        ...
