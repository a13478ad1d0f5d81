"""What is recorded of the stages that wrote the artifacts: plain data, read from `dvc.lock` by flows/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

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


@dataclass(frozen=True)
class Graph:
    """All recorded stages. commit: of the working tree; dirty: whether it has changes beside it."""

    stages: tuple[StageFact, ...]
    commit: str | None = None
    dirty: bool = False

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

    def _find_out(self, path: str) -> tuple[StageFact, FileFact] | None:
        for each in (PurePosixPath(path), *PurePosixPath(path).parents):
            if each.as_posix() in self._writers:
                return self._writers[each.as_posix()]
        return None
