"""Collect more rows than fit into memory: external merge sort by id, with sorted runs on disk."""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Generic, TypeVar, overload

from tasks.files import remove_leftovers

Row = TypeVar("Row")
RUN = 65_536
"""Number of rows in memory before they are written to disk as a run."""
PAGE = 250
"""Number of rows of each run in memory while runs are merged."""
PREFIX = "benchloom-spool-"
by_id = attrgetter("id")


class Spool(Sequence[Row], Generic[Row]):
    """A growing sequence of rows, read in the order of their ids, of which at most `run` are in memory.

    Its temporary files are deleted with it.
    """

    def __init__(self, run: int = RUN) -> None:
        self._run = run
        self._memory: list[Row] = []
        self._files: list[Path] = []
        self._count = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, row: Row) -> None:
        """Add a row, in any order of ids."""
        self._memory.append(row)
        self._count += 1
        if len(self._memory) >= self._run:
            self._flush()

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Keep all rows added inside the block, or none of them if it raises."""
        before, files, count = self._memory, len(self._files), self._count
        self._memory = []
        try:
            yield
        except BaseException:
            for path in self._files[files:]:
                path.unlink()
            del self._files[files:]
            self._memory, self._count = before, count
            raise
        self._memory = before + self._memory
        if len(self._memory) >= self._run:
            self._flush()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        self._memory.sort(key=by_id)
        return heapq.merge(self._memory, *map(_read, self._files), key=by_id)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spool) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # it can be added to

    def _flush(self) -> None:
        if self._folder is None:
            remove_leftovers(Path(tempfile.gettempdir()), PREFIX)
            self._folder = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
        path = Path(self._folder.name) / f"{len(self._files):06d}.{self._count}"
        self._memory.sort(key=by_id)
        with path.open("wb") as file:
            write_pages(file, self._memory)
        self._files.append(path)
        self._memory = []


def _read(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from read_pages(file)


def write_pages(file: IO[bytes], rows: Iterable[object]) -> None:
    """Write rows to a file of this process's own, to be read again in their order."""
    left = iter(rows)
    while page := list(islice(left, PAGE)):
        pickle.dump(page, file, protocol=pickle.HIGHEST_PROTOCOL)


def read_pages(file: IO[bytes]) -> Iterator[Any]:
    """Read the rows that `write_pages` wrote."""
    while True:
        try:
            page = pickle.load(file)  # noqa: S301 (a file of this process's own)
        except EOFError:
            return
        yield from page
