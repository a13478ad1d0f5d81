"""Find artifacts by the names in the origins of rows, figures and calls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tasks.lineage.lookup import RowLookup
from tasks.lineage.records import Graph

CALLS = "calls.parquet"
"""Suffix of the file names of calls artifacts, in stages and in evaluation folders."""
LINE = re.compile(r", (?:line|row) \d+$")


@dataclass
class ArtifactLocator:
    """Finds artifacts below `root`. `graph`: the stages whose dependencies are searched."""

    root: Path
    graph: Graph | None
    lookup: RowLookup
    _calls: dict[Path | None, dict[str, Path]] = field(default_factory=dict, repr=False)

    def find_artifact(self, stem: str, path: str) -> str | None:
        """Find the artifact that a row or figure of `path` refers to; None if it is missing or ambiguous.

        `stem`: a name in the folder of `path`, a path, or the end of a path. The end of a path is looked up
        among the dependencies of the stage that wrote `path`, then among the dependencies of the stages that
        wrote these dependencies, and so on.
        """
        # A name in an artifact must not make lineage read files outside of the project.
        if leads_outside(stem):
            return None
        beside = PurePosixPath(path).parent
        for place in (beside / f"{stem}.parquet", PurePosixPath(f"{stem}.parquet"), PurePosixPath(stem)):
            if place.suffix == ".parquet" and (self.root / place).is_file():
                return place.as_posix()
        stage = self.graph.find_writer(path) if self.graph else None
        # A page may show figures that another stage computed. The rows of these figures are inputs of that
        # stage.
        seen: set[str] = set()
        stages = [stage] if stage else []
        while stages:
            deps = {file.path: None for stage in stages for file in stage.data}
            fits = {fit: None for dep in deps for fit in self._list_fits(dep, stem)}
            if fits:
                return next(iter(fits)) if len(fits) == 1 else None
            seen.update(stage.name for stage in stages)
            writers = [self.graph.find_writer(dep) for dep in deps] if self.graph else []
            stages = list(
                {writer.name: writer for writer in writers if writer and writer.name not in seen}.values()
            )
        return None

    def _list_fits(self, dep: str, stem: str) -> list[str]:
        """List the paths that match a name: the dependency itself, or a file in a dependency folder."""
        if (self.root / dep).is_dir():
            inside = PurePosixPath(dep) / f"{stem}.parquet"
            return [inside.as_posix()] if (self.root / inside).is_file() else []
        return [dep] if f"/{dep}".endswith(f"/{stem}.parquet") and (self.root / dep).is_file() else []

    def find_file(self, name: str, path: str) -> str:
        """Return the path of the file that a row of `path` refers to.

        `name`: the file's path. For a file that the stage of `path` read, the end of the path is enough. The
        name may include a row's position in the file: `questions.jsonl, line 4`. If no single file matches,
        the name is returned without the position.
        """
        stage = self.graph.find_writer(path) if self.graph else None
        name = LINE.sub("", name)
        if stage is None or leads_outside(name) or (self.root / name).exists():
            return name
        deps = [file.path for file in stage.data]
        fits = [dep for dep in deps if dep.endswith(f"/{name}")]
        fits += [f"{dep}/{name}" for dep in deps if (self.root / dep / name).is_file()]
        return fits[0] if len(fits) == 1 else name

    def find_calls(self, call_key: str, path: str) -> str | None:
        """Find the calls artifact that contains a call; None if no calls artifact contains the call.

        The calls artifacts in the folder of `path` are searched first, then the outputs of all stages.
        """
        folder = (self.root / path).parent
        artifacts = self._index_calls(folder, sorted(folder.glob(f"*{CALLS}")))
        if call_key not in artifacts and self.graph is not None:
            outs = [self.root / out for out in self.graph.list_outs() if out.endswith(CALLS)]
            artifacts = self._index_calls(None, [out for out in outs if out.is_file()])
        return self.relate(artifacts[call_key]) if call_key in artifacts else None

    def relate(self, path: Path) -> str:
        """Return a path relative to `root`, or unchanged if it is outside of `root`."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def _index_calls(self, folder: Path | None, paths: Iterable[Path]) -> dict[str, Path]:
        if folder not in self._calls:
            self._calls[folder] = {key: path for path in paths for key in self.lookup.index(path)}
        return self._calls[folder]


def leads_outside(path: str) -> bool:
    """Return whether a path is absolute or contains `..`."""
    return PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts
