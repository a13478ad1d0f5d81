"""The interface of importers, the plug of one's own: a published file in, a dataset of StreamBench out.

A new importer is one subclass, named like its file in tasks/sources/importers/, or an entry point of the
group `benchloom.importers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tasks.sources.stream_dataset import DatasetItem, DatasetShot, LeftOutRecord


class Importer(ABC):
    """Reads one published dataset. What draws, counts, skips and writes is the command's."""

    name: ClassVar[str]
    """Of the command, `benchloom import <name>`, and of the dataset's folder if no other is asked for."""
    kind: ClassVar[str]
    """The environment that its items are answered in: `hotpotqa`, `sql`, or one of your own."""
    title: ClassVar[str]
    licence: ClassVar[str]
    """Under which the dataset is published, as SPDX writes it, or in words."""
    source: ClassVar[str]
    """Where it comes from: an address, or words."""
    files: ClassVar[tuple[str, ...]]
    """Names of its file of items: the first that is in the folder or archive is read."""
    stratum: ClassVar[str] = ""
    """The field of `details` that a draw is even over; empty where there is none."""

    def __init__(self, folder: Path, file: Path) -> None:
        """folder: of the dataset, unpacked where it came as an archive. file: that of `files`, in it."""
        self.folder, self.file = folder, file

    @abstractmethod
    def read_items(self) -> Iterable[tuple[str, DatasetItem | LeftOutRecord]]:
        """Read all records, each with its place in the file (`line 3`); one that is no item says why.

        May be called twice, and must give the same each time: a draw holds keys alone in memory.
        """

    def read_shots(self) -> Iterable[tuple[str, DatasetShot | LeftOutRecord]]:
        """Read examples with answers that are no items, as of a training split; by default none."""
        return ()

    def list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """List what goes below `files/` for the items that are taken: name -> file, or its content."""
        return {}

    def list_read(self) -> Sequence[Path]:
        """List the files that were read, whose checksums are kept."""
        return [self.file]
