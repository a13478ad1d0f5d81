"""Stage: list the files of a stream's datasets, with their checksums.

Later stages depend on these rows instead of the folder of all datasets, so that a new dataset does not make
other streams stale. DVC cannot declare a separate dependency for each dataset that a stream's entry lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.sources.stream_dataset import digest_file
from tasks.streambench.build.items import FOLDER, open_datasets
from tasks.streambench.entries import Stream


@dataclass(frozen=True)
class DatasetFile:
    """A file of a dataset's folder. path: the path relative to the folder."""

    id: str
    dataset: str
    path: str
    sha256: str
    origin: tuple[Origin, ...]


def datasets(streambench: Path, entry: Stream) -> Drafts[DatasetFile]:
    """List the files of the entry's datasets. Raises BadInput if a dataset cannot be opened."""
    rows = []
    for dataset in open_datasets(streambench, entry.datasets):
        name = dataset.folder.name
        for file in sorted(path for path in dataset.folder.rglob("*") if path.is_file()):
            path = file.relative_to(dataset.folder).as_posix()
            origin = Origin("file", f"{FOLDER}/{name}/{path}")
            rows.append(
                DatasetFile(make_id("dataset file", name, path), name, path, digest_file(file), (origin,))
            )
    return Drafts(rows)
