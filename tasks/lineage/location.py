"""Find the artifacts of rows, figures and calls by the names that origins give them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tasks.lineage.lookup import RowLookup
from tasks.lineage.records import Graph

CALLS = ".calls.parquet"


@dataclass
class ArtifactLocator:
    """Finds artifacts below `root`. graph: stages whose dependencies may be abbreviated."""

    root: Path
    graph: Graph | None
    lookup: RowLookup
    _calls: dict[Path, dict[str, Path]] = field(default_factory=dict, repr=False)

    def find_artifact(self, stem: str, path: str) -> str | None:
        """Find the artifact that a row or figure of `path` names: beside it, by path or by the end of one."""
        if leads_outside(stem):
            return None
        beside = PurePosixPath(path).parent
        for place in (beside / f"{stem}.parquet", PurePosixPath(f"{stem}.parquet"), PurePosixPath(stem)):
            if place.suffix == ".parquet" and (self.root / place).is_file():
                return place.as_posix()
        stage = self.graph.find_writer(path) if self.graph else None
        deps = [file.path for file in stage.deps] if stage else []
        fits = [dep for dep in deps if f"/{dep}".endswith(f"/{stem}.parquet") and (self.root / dep).is_file()]
        return fits[0] if len(fits) == 1 else None

    def find_calls(self, call_key: str, path: str) -> str | None:
        """Find the calls artifact that contains a call: in the folder of `path`, else among all outputs."""
        folder = (self.root / path).parent
        artifacts = self._index_calls(folder, sorted(folder.glob(f"*{CALLS}")))
        if call_key not in artifacts and self.graph is not None:
            outs = [self.root / out for out in self.graph.list_outs() if out.endswith(CALLS)]
            artifacts = self._index_calls(self.root, [out for out in outs if out.is_file()])
        return self.relate(artifacts[call_key]) if call_key in artifacts else None

    def relate(self, path: Path) -> str:
        """Return a path relative to `root`."""
        return path.relative_to(self.root).as_posix()

    def _index_calls(self, folder: Path, paths: Iterable[Path]) -> dict[str, Path]:
        if folder not in self._calls:
            self._calls[folder] = {key: path for path in paths for key in self.lookup.index(path)}
        return self._calls[folder]


def leads_outside(path: str) -> bool:
    """Return whether a path is absolute or leads above its start by `..`."""
    return PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts
