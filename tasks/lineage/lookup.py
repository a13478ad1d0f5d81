"""Find rows of artifacts by id, reading only the id column and the row groups of these rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.errors import BadInput
from tasks.lineage.nodes import Record

SHORTEST_PREFIX = 6
"""Minimum number of characters in an id prefix; shorter prefixes are errors, because they are too
ambiguous."""
GROUPS_KEPT = 8
"""Maximum number of row groups of one artifact in the cache."""


@dataclass
class _OpenArtifact:
    file: pq.ParquetFile
    row_numbers: dict[str, int]
    group_starts: list[int]
    groups: OrderedDict[int, pa.Table] = field(default_factory=OrderedDict)


@dataclass
class RowLookup:
    """Looks up rows of Parquet artifacts by path and id; each file is opened once."""

    _artifacts: dict[Path, _OpenArtifact] = field(default_factory=dict, repr=False)

    def index(self, path: Path) -> dict[str, int]:
        """Map row ids to row numbers. Raises BadInput if the file is missing or has no ids."""
        return self._open(path).row_numbers

    def has_ids(self, path: Path) -> bool:
        """Return whether an artifact's rows have ids. Raises BadInput if the artifact cannot be read."""
        try:
            return bool(self._open(path))
        except BadInput:
            try:
                names = pq.read_schema(path).names
            except (OSError, pa.ArrowException):
                names = ["id"]
            if "id" in names:
                raise
            return False

    def complete_id(self, path: Path, prefix: str) -> str:
        """Complete the id of a row from its prefix. Raises BadInput unless exactly one row matches."""
        ids = self.index(path)
        if prefix in ids:
            return prefix
        fits = [row_id for row_id in ids if row_id.startswith(prefix)]
        if fits and len(prefix) < SHORTEST_PREFIX:
            raise BadInput(
                path,
                f"{prefix!r} is too short: the prefix of an id needs at least {SHORTEST_PREFIX} characters",
            )
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise BadInput(path, f"{len(fits)} rows have an id that begins with {prefix!r}")
        some = ", ".join(list(ids)[:3]) or "none, because the artifact is empty"
        raise BadInput(path, f"has no row whose id begins with {prefix!r}", hint=f"the first ids: {some}")

    def read_row(self, path: Path, row_id: str) -> Record:
        """Read one row by its full id, as column -> value."""
        artifact = self._open(path)
        row_number = artifact.row_numbers[row_id]
        number = max(group for group, start in enumerate(artifact.group_starts) if start <= row_number)
        if number not in artifact.groups:
            artifact.groups[number] = artifact.file.read_row_group(number)
            if len(artifact.groups) > GROUPS_KEPT:
                artifact.groups.popitem(last=False)
        group = artifact.groups[number]
        record: Record = group.slice(row_number - artifact.group_starts[number], 1).to_pylist()[0]
        return record

    def _open(self, path: Path) -> _OpenArtifact:
        if path not in self._artifacts:
            try:
                file = pq.ParquetFile(path)
                has_ids = "id" in file.schema_arrow.names
                ids = file.read(columns=["id"])["id"] if has_ids else None
            except (OSError, pa.ArrowException) as error:
                beside = ", ".join(sorted(file.name for file in path.parent.glob("*.parquet"))) or "nothing"
                first = str(error).partition("\n")[0]
                raise BadInput(
                    path,
                    f"cannot be read as Parquet: {first}",
                    hint=f"Parquet files in this folder: {beside}",
                ) from error
            if ids is None:
                raise BadInput(path, "has no column 'id', so its rows cannot be looked up")
            numbers = {row_id: number for number, row_id in enumerate(pc.cast(ids, pa.string()).to_pylist())}
            self._artifacts[path] = _OpenArtifact(file, numbers, list(_list_group_starts(file)))
        return self._artifacts[path]


def _list_group_starts(file: pq.ParquetFile) -> Iterator[int]:
    start = 0
    for group in range(file.num_row_groups):
        yield start
        start += file.metadata.row_group(group).num_rows
