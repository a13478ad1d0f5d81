"""Artifacts opened as far as lookups need them: the ids of each, and the row groups that were asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.errors import BadInput

SHORTEST_PREFIX = 6
"""Fewer characters of an id than this name nothing in particular."""
GROUPS_KEPT = 8
"""Row groups that one artifact keeps in memory."""


@dataclass
class _Opened:
    file: pq.ParquetFile
    places: dict[str, int]
    starts: list[int]
    groups: OrderedDict[int, pa.Table] = field(default_factory=OrderedDict)


@dataclass
class Tables:
    """Parquet artifacts by path; each is opened once."""

    _opened: dict[Path, _Opened] = field(default_factory=dict, repr=False)

    def index(self, path: Path) -> dict[str, int]:
        """Give each row's place by its id. Raises BadInput where the file has no rows that can be named."""
        return self._open(path).places

    def find_row(self, path: Path, row_id: str) -> str:
        """Complete a row's id from its beginning; raise BadInput where it names no row, or several."""
        places = self.index(path)
        if row_id in places:
            return row_id
        fits = [each for each in places if each.startswith(row_id)]
        if fits and len(row_id) < SHORTEST_PREFIX:
            raise BadInput(
                path, f"{row_id!r} is too short for an id's beginning (at least {SHORTEST_PREFIX})"
            )
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise BadInput(path, f"{len(fits)} rows have an id that begins with {row_id!r}")
        some = ", ".join(list(places)[:3]) or "none: it is empty"
        raise BadInput(path, f"has no row {row_id!r}", hint=f"its ids begin with {some}")

    def read_row(self, path: Path, row_id: str) -> dict[str, Any]:
        """Read one row by its whole id."""
        opened = self._open(path)
        place = opened.places[row_id]
        number = max(group for group, start in enumerate(opened.starts) if start <= place)
        if number not in opened.groups:
            opened.groups[number] = opened.file.read_row_group(number)
            if len(opened.groups) > GROUPS_KEPT:
                opened.groups.popitem(last=False)
        record: dict[str, Any] = opened.groups[number].slice(place - opened.starts[number], 1).to_pylist()[0]
        return record

    def _open(self, path: Path) -> _Opened:
        if path not in self._opened:
            try:
                file = pq.ParquetFile(path)
                named = "id" in file.schema_arrow.names
                ids = file.read(columns=["id"])["id"] if named else None
            except (OSError, pa.ArrowException) as error:
                beside = ", ".join(sorted(each.name for each in path.parent.glob("*.parquet"))) or "nothing"
                first = str(error).partition("\n")[0]
                raise BadInput(
                    path, f"cannot be read as Parquet: {first}", hint=f"there is {beside}"
                ) from error
            if ids is None:
                raise BadInput(path, "has no column 'id', so no row of it can be named")
            places = {row_id: place for place, row_id in enumerate(pc.cast(ids, pa.string()).to_pylist())}
            self._opened[path] = _Opened(file, places, list(_list_starts(file)))
        return self._opened[path]


def _list_starts(file: pq.ParquetFile) -> Iterator[int]:
    start = 0
    for number in range(file.num_row_groups):
        yield start
        start += file.metadata.row_group(number).num_rows
