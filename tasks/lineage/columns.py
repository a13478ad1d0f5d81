"""Find the columns of an artifact that were copied from the artifacts of its origin rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

ID, ORIGIN = "id", "origin"
MOST_ROWS = 20_000
"""Values are compared only if the artifact and its source each have at most this many rows.

The artifact must also have at most this many references to rows of the source.
"""


@dataclass(frozen=True)
class ColumnSource:
    """A column of an artifact, and its source column in another artifact.

    `artifact`: path of the other artifact. `field`: the column in the other artifact. `how`: `names` if the
    column contains ids of the other artifact's rows; `copied` if, in all rows, the column has the same value
    as `field` in the origin row.
    """

    column: str
    artifact: str
    field: str
    how: str


def find_columns(
    root: Path, path: str, find_artifact: Callable[[str, str], str | None]
) -> list[ColumnSource]:
    """Return the sources of an artifact's columns, sorted; empty if its rows have no origins.

    `find_artifact`: a function like `ArtifactLocator.find_artifact`. The sources of computed columns are not
    found. If the artifact or the source has more than 20,000 rows, or if more than 20,000 references connect
    them, only the column `origin` is reported for that source.
    """
    schema = pq.read_schema(root / path)
    if ORIGIN not in schema.names or ID not in schema.names:
        return []
    joined: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    origins = pq.read_table(root / path, columns=[ORIGIN])[ORIGIN].to_pylist()
    for number, row_origins in enumerate(origins):
        for origin in row_origins or ():
            stem, mark, row = origin["reference"].partition("#")
            if origin["kind"] == "row" and mark:
                joined[stem].append((number, row))
    found: dict[str, list[tuple[int, str]]] = {}
    for stem, pairs in joined.items():
        artifact = find_artifact(stem, path)
        if artifact is not None:
            found.setdefault(artifact, []).extend(pairs)
    return sorted(
        (source for artifact, pairs in found.items() for source in _compare(root, path, artifact, pairs)),
        key=lambda source: (source.column, source.artifact, source.field),
    )


def _compare(root: Path, path: str, artifact: str, pairs: list[tuple[int, str]]) -> Iterator[ColumnSource]:
    yield ColumnSource(ORIGIN, artifact, ID, "names")
    own, other = pq.ParquetFile(root / path), pq.ParquetFile(root / artifact)
    if max(own.metadata.num_rows, other.metadata.num_rows, len(pairs)) > MOST_ROWS:
        return
    names = [name for name in own.schema_arrow.names if name != ORIGIN]
    shared = [name for name in names if name in other.schema_arrow.names]
    rows = own.read(columns=names).to_pylist()
    sources = {row[ID]: row for row in other.read(columns=list(dict.fromkeys([ID, *shared]))).to_pylist()}
    known = [(rows[number], sources[row]) for number, row in pairs if row in sources]
    for name in shared if known else ():
        if all(row[name] == source[name] for row, source in known):
            yield ColumnSource(name, artifact, name, "copied")
    for name in names if known else ():
        if name != ID and all(row[name] == source[ID] for row, source in known):
            yield ColumnSource(name, artifact, ID, "names")
