"""Sort and merge rows as Arrow tables: merge many sorted files into one file in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq

from tasks.artifacts.parquet import ROW_GROUP
from tasks.artifacts.rows import schema_of
from tasks.files import write_beside
from tasks.limits import go_on

RUN = 8_192
"""Number of rows that a SortedWriter sorts in memory at once and writes per row group."""
BATCH = 2_048
"""Number of rows held in memory per file while files are merged."""
MERGED = 32
"""Maximum number of files that are open at once during a merge."""
Row = TypeVar("Row")


class SortedWriter(Generic[Row]):
    """Accepts rows in any order; `finish` writes them sorted by id.

    `folder`: the folder for temporary files.
    """

    def __init__(self, row: type[Row], folder: Path) -> None:
        self._schema = schema_of(row)  # type: ignore[arg-type] # mypy: a class is no Hashable
        self._folder = tempfile.TemporaryDirectory(prefix=".sort-", dir=folder)
        self._rows: list[Row] = []
        self._runs: list[Path] = []
        self.count = 0

    def __enter__(self) -> SortedWriter[Row]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def add(self, row: Row) -> None:
        """Add a row."""
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= RUN:
            self._flush()

    def finish(self, path: Path) -> None:
        """Write all rows, sorted by id. Raises ValueError if two rows have the same id."""
        self._flush()
        if len(self._runs) == 1:
            self._runs[0].replace(path)
        else:
            write_tables(path, self._schema, merge_files(self._runs, Path(self._folder.name)), RUN)

    def _flush(self) -> None:
        if self._rows:
            table = sort_table(make_table(self._rows, self._schema))
            self._runs.append(Path(self._folder.name) / f"{len(self._runs):06d}")
            write_tables(self._runs[-1], self._schema, [table], RUN)
            self._rows = []


def make_table(rows: Sequence[object], schema: pa.Schema) -> pa.Table:
    """Convert dataclass rows to a table through JSON; numbers must be finite.

    Functions that accept Python objects (`pa.array`, `pa.scalar`) would import pandas, which takes a third of
    a second in each process.
    """
    document = orjson.dumps({"rows": rows})
    found = pyarrow.json.read_json(
        pa.BufferReader(document),
        # The document is a single JSON object, which pyarrow can only read within one block.
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(document)),
        pyarrow.json.ParseOptions(pa.schema([pa.field("rows", pa.list_(pa.struct(schema)))])),
    )
    return pa.Table.from_struct_array(found["rows"].chunk(0).values).cast(schema)


def sort_table(table: pa.Table) -> pa.Table:
    """Sort a table by its ids."""
    return table.take(pc.sort_indices(table["id"]))


def write_tables(path: Path, schema: pa.Schema, tables: Iterable[pa.Table], group: int = ROW_GROUP) -> int:
    """Write tables that are sorted by id, in the format of `write_rows`; return the number of rows.

    The bytes do not depend on how the rows are divided into tables. Raises ValueError if two rows have the
    same id.
    """
    count, previous = 0, None
    with (
        write_beside(path) as draft,
        pq.ParquetWriter(
            draft, schema, compression="zstd", store_schema=False, write_statistics=True
        ) as file,
    ):
        for table in cut_tables(tables, group):
            ids = table["id"]
            again = previous == ids[0].as_py() or pc.any(pc.equal(ids[1:], ids[:-1])).as_py()
            if again:
                raise ValueError(f"{path.name}: two rows have the same id")
            previous = ids[-1].as_py()
            file.write_table(table, row_group_size=group)
            count += table.num_rows
        if count == 0:
            file.write_table(pa.Table.from_batches([], schema))
    return count


def cut_tables(tables: Iterable[pa.Table], group: int) -> Iterator[pa.Table]:
    """Regroup tables so that each table except the last has `group` rows, and no table is empty."""
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += table.num_rows
        while rows >= group:
            whole = pa.concat_tables(held)
            yield whole.slice(0, group).combine_chunks()
            held, rows = [whole.slice(group)], rows - group
    if rows:
        yield pa.concat_tables(held).combine_chunks()


def merge_files(paths: Sequence[Path], folder: Path) -> Iterator[pa.Table]:
    """Yield the rows of sorted files in the order of their ids, a few thousand at a time.

    If there are more than MERGED files, groups of files are first merged into files in `folder`.
    """
    level = 0
    while len(paths) > MERGED:
        level += 1
        merged = [folder / f"merged-{level}-{start:06d}" for start in range(0, len(paths), MERGED)]
        for number, path in enumerate(merged):
            some = paths[number * MERGED : (number + 1) * MERGED]
            write_tables(path, pq.read_schema(some[0]), _merge(some), RUN)
        paths = merged
    yield from _merge(paths)


def _merge(paths: Sequence[Path]) -> Iterator[pa.Table]:
    files = [_SortedFile(path) for path in paths]
    while files := [file for file in files if file.held is not None]:
        go_on()
        # All rows up to this id are in memory: no file has a smaller id that was not read.
        bound = min((file.last for file in files), key=lambda last: last.as_py())
        yield sort_table(pa.concat_tables([file.take(bound) for file in files]))


class _SortedFile:
    """A reader of a sorted file.

    `held`: the next rows, or None at the end of the file. `last`: the greatest id in `held`.
    """

    def __init__(self, path: Path) -> None:
        self._tables = iterate_tables(path)
        self.held: pa.Table = next(self._tables, None)

    @property
    def last(self) -> pa.Scalar:
        return self.held["id"][-1]

    def take(self, bound: pa.Scalar) -> pa.Table:
        """Remove and return the rows with ids up to and including `bound`; `bound` must not exceed `last`."""
        count = pc.sum(pc.less_equal(self.held["id"], bound)).as_py() or 0
        taken, left = self.held.slice(0, count), self.held.slice(count)
        self.held = left if left.num_rows else next(self._tables, None)
        return taken


def iterate_tables(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file, one batch at a time."""
    # Without a buffer size, pyarrow reads each column of a row group into memory as a whole.
    with pq.ParquetFile(path, buffer_size=2**16) as file:
        for batch in file.iter_batches(BATCH):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
