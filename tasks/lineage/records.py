"""What is recorded of the stages that wrote the artifacts: plain data, read from `dvc.lock` by flows/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Protocol

CODE = ("tasks/", "flows/", "pyproject.toml")
"""Dependencies that begin so are code, prompts or pins; all others are data, wherever they lie."""


@dataclass(frozen=True)
class FileFact:
    """A file or folder by its path in the project. md5: DVC's hash; size in bytes."""

    path: str
    md5: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class StageFact:
    """One recorded run of a stage. params: dotted name -> value."""

    name: str
    command: str
    deps: tuple[FileFact, ...] = ()
    outs: tuple[FileFact, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> tuple[FileFact, ...]:
        """The dependencies that are data."""
        return tuple(each for each in self.deps if not each.path.startswith(CODE))

    @property
    def code(self) -> tuple[FileFact, ...]:
        """The dependencies that are code, prompts or pins."""
        return tuple(each for each in self.deps if each.path.startswith(CODE))

    @property
    def function(self) -> str:
        """The stage's own name, by its command `benchloom stage NAME [KEY]`; else nothing."""
        words = self.command.split()
        return words[2] if words[:2] == ["benchloom", "stage"] and len(words) > 2 else ""

    @property
    def key(self) -> str:
        """What the stage is fanned out over (a database's name), or nothing."""
        words = self.command.split()
        return words[3] if self.function and len(words) > 3 else ""


@dataclass(frozen=True)
class Graph:
    """All recorded stages. commit: of the working tree, None where there is no git.

    dirty: whether the tree has changes that are not committed; uncommitted: their paths.
    recorded_in: the commit in which `dvc.lock` was last committed.
    """

    stages: tuple[StageFact, ...]
    commit: str | None = None
    dirty: bool = False
    uncommitted: tuple[str, ...] = ()
    recorded_in: str | None = None

    @cached_property
    def _writers(self) -> dict[str, tuple[StageFact, FileFact]]:
        return {out.path: (stage, out) for stage in self.stages for out in stage.outs}

    @cached_property
    def _read(self) -> dict[str, FileFact]:
        return {dep.path: dep for stage in self.stages for dep in stage.deps}

    def find_writer(self, path: str) -> StageFact | None:
        """Find the stage that wrote a path, or the folder that the path lies in."""
        found = self._find_out(path)
        return found[0] if found else None

    def find_file(self, path: str) -> FileFact | None:
        """Find what is recorded of a path: as an output (or inside one), else as a dependency."""
        found = self._find_out(path)
        return found[1] if found else self._read.get(path)

    def list_outs(self) -> list[str]:
        """List the paths of all outputs, sorted."""
        return sorted(self._writers)

    def list_code(self) -> list[str]:
        """List the paths of all code, prompts and pins, sorted."""
        return sorted({each.path for stage in self.stages for each in stage.code})

    def _find_out(self, path: str) -> tuple[StageFact, FileFact] | None:
        for each in (PurePosixPath(path), *PurePosixPath(path).parents):
            if each.as_posix() in self._writers:
                return self._writers[each.as_posix()]
        return None


class Archive(Protocol):
    """What can be told of recorded files beyond `dvc.lock`: are they still here, and in which commit."""

    def check(self, fact: FileFact) -> str:
        """Say `same`, `changed`, `missing`, or `unchecked` where no hash is recorded or it is too big."""
        ...

    def find_commit(self, fact: FileFact) -> str | None:
        """Find a commit that holds the file with the hash recorded; None where none does, or no git."""
        ...
