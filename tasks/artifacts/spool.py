"""Collect more rows than fit into memory: external merge sort by id, with sorted runs on disk."""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Generic, TypeVar, overload

from tasks.files import remove_leftovers

Row = TypeVar("Row")
RUN = 65_536
"""Number of rows in memory before they are written to disk as a run."""
PAGE = 250
"""Number of rows held in memory per run while runs are merged."""
MERGED = 128
"""Number of runs of the same level that are merged into one run.

While a Spool's rows are read, the files of all its runs are open.
"""
PREFIX = "benchloom-spool-"
"""Prefix of temporary folders; folders that ended processes left behind are found by this prefix."""
by_id = attrgetter("id")


@dataclass(frozen=True)
class _Run:
    """A file of sorted rows. `level`: 0 for rows written from memory; each merge adds 1."""

    path: Path
    level: int = 0


class Spool(Sequence[Row], Generic[Row]):
    """A growing sequence of rows, read in the order of their ids; at most `run` rows are in memory.

    The temporary files are deleted together with the object.
    """

    def __init__(self, run: int = RUN) -> None:
        self._run = run
        self._memory: list[Row] = []
        self._runs: list[_Run] = []
        self._held = 0
        """Number of runs at the start of the list that must not be merged.

        Inside `all_or_none`, these are the runs from before the `with` block; otherwise, the number is 0.
        """
        self._written = 0
        self._count = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, row: Row) -> None:
        """Add a row; rows may be added in any order."""
        self._memory.append(row)
        self._count += 1
        if len(self._memory) >= self._run:
            self._flush()

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Keep all rows that are added in the `with` block, or none if the block raises an exception."""
        before, held, count = self._memory, self._held, self._count
        self._memory, self._held = [], len(self._runs)
        try:
            yield
        except BaseException:
            for run in self._runs[self._held :]:
                run.path.unlink()
            del self._runs[self._held :]
            self._memory, self._count = before, count
            raise
        finally:
            self._held = held
        self._memory = before + self._memory
        if len(self._memory) >= self._run:
            self._flush()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        self._memory.sort(key=by_id)
        return heapq.merge(self._memory, *(_read(run.path) for run in self._runs), key=by_id)

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
        self._memory.sort(key=by_id)
        self._runs.append(_Run(self._write(self._memory)))
        self._memory = []
        self._merge()

    def _merge(self) -> None:
        """Merge runs of the same level if there are at least MERGED, to limit the number of files."""
        level = 0
        while len(many := [run for run in self._runs[self._held :] if run.level == level]) >= MERGED:
            level += 1
            path = self._write(heapq.merge(*(_read(run.path) for run in many), key=by_id))
            self._runs = [run for run in self._runs if run not in many] + [_Run(path, level)]
            for run in many:
                run.path.unlink()

    def _write(self, rows: Iterable[Row]) -> Path:
        if self._folder is None:
            remove_leftovers(Path(tempfile.gettempdir()), PREFIX)
            self._folder = tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
        path = Path(self._folder.name) / f"{self._written:06d}"
        self._written += 1
        with path.open("wb") as file:
            write_pages(file, rows)
        return path


def _read(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from read_pages(file)


def write_pages(file: IO[bytes], rows: Iterable[object]) -> None:
    """Write rows to a temporary file; only this process reads the file, with `read_pages`."""
    left = iter(rows)
    while page := list(islice(left, PAGE)):
        pickle.dump(page, file, protocol=pickle.HIGHEST_PROTOCOL)


def read_pages(file: IO[bytes]) -> Iterator[Any]:
    """Read the rows that `write_pages` wrote."""
    while True:
        try:
            page = pickle.load(file)  # noqa: S301 (a file that this process wrote)
        except EOFError:
            return
        yield from page
