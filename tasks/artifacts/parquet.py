"""Read and write Parquet artifacts of dataclass rows; equal rows produce identical bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from tasks.artifacts.rows import schema_of
from tasks.artifacts.spool import Spool, by_id
from tasks.errors import BadInput
from tasks.files import write_beside

ROW_GROUP = 65_536
"""Number of rows per row group."""
BATCH = 4_096
"""Number of rows in memory while an artifact is streamed."""
Row = TypeVar("Row")


def write_rows(path: Path, row: type, rows: Iterable[object]) -> int:
    """Write dataclass rows of type `row`, sorted by their first column; return the number of rows.

    A Spool is sorted already, and is written with at most one row group in memory. Raises ValueError if two
    rows have the same id, because later stages would lose one of the two rows.
    """
    schema = schema_of(row)
    key = schema.names[0]
    ordered = rows if isinstance(rows, Spool) else sorted(rows, key=attrgetter(key))
    checked = _check_ids(ordered, path) if key == "id" else iter(ordered)
    count, adapter = 0, _adapt(row)
    with write_beside(path) as draft, _open_writer(draft, schema) as writer:
        while group := list(islice(checked, ROW_GROUP)):
            records = adapter.dump_python(group, warnings=False)
            writer.write_table(pa.Table.from_pylist(records, schema=schema))
            count += len(group)
        if count == 0:
            writer.write_table(schema.empty_table())
    return count


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table atomically: to a temporary file next to `path`, which is then renamed."""
    with write_beside(path) as draft, _open_writer(draft, table.schema) as writer:
        writer.write_table(table.combine_chunks(), row_group_size=ROW_GROUP)


def _open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", store_schema=False, write_statistics=True)


def _check_ids(rows: Iterable[object], path: Path) -> Iterator[object]:
    previous = None
    for row in rows:
        row_id = by_id(row)
        if row_id == previous:
            raise ValueError(f"{path.name}: two rows have the id {row_id}")
        previous = row_id
        yield row


@cache
def _adapt(row: type) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[row])  # type: ignore[valid-type] # a type that is known when it runs


def _count_defaults(row: type) -> int:
    """Return the number of fields of a row type that have a default; these are the last fields."""
    return sum(field.default is not MISSING or field.default_factory is not MISSING for field in fields(row))


def read_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read a Parquet artifact into dataclass rows of type `row`.

    Raises BadInput if the file is missing or is not Parquet, if its columns differ from those of `row`, or if
    a cell does not have its column's type.
    """
    return list(StoredRows(path, row))


def read_valid_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read the rows whose cells all have their column's type; skip the other rows.

    For example, a row with an unexpected NULL is skipped. Contracts use this function, because they must not
    fail on the rows that they report. Raises BadInput if the file is missing or has other columns.
    """
    return list(StoredRows(path, row).iterate_valid())


class StoredRows(Generic[Row]):
    """The rows of a Parquet artifact; each iteration reads the file again, one batch at a time.

    For a slice, only the row groups that overlap the slice are read. The last row group is cached for the
    next slice.
    """

    def __init__(self, path: Path, row: type[Row], limit: int | None = None) -> None:
        """Open the file and check its columns. `limit`: read only the first rows, for a preview.

        Raises BadInput if the file is missing or its columns differ from those of `row`. The last columns may
        be missing if their fields have defaults.
        """
        self._path = path
        self._adapter = _adapt(row)  # type: ignore[arg-type] # mypy: a class is no Hashable
        required = len(fields(row)) - _count_defaults(row)  # type: ignore[arg-type] # a dataclass
        with self._open() as file:
            found, expected = file.schema_arrow.names, schema_of(row).names  # type: ignore[arg-type] # no Hashable
            count = int(file.metadata.num_rows)
        # Files of earlier versions lack columns that were added later; the fields' defaults are used for
        # these.
        if found != expected[: max(len(found), required)]:
            raise BadInput(
                path,
                f"has the columns {', '.join(found)}, not {', '.join(expected)}",
                hint="run its stage again",
            )
        self._count = count if limit is None else min(count, limit)
        self._held: tuple[int, pa.Table] | None = None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return islice(self._read(), self._count)

    def __getitem__(self, part: slice) -> list[Row]:
        """Return the rows of a slice; the slice's step is ignored.

        Raises BadInput if the file cannot be read, or if a cell does not have its column's type.
        """
        first, last, _ = part.indices(self._count)
        records: list[dict[str, object]] = []
        with self._open() as file:
            begin = 0
            for group in range(file.num_row_groups):
                end = begin + file.metadata.row_group(group).num_rows
                if begin < last and end > first:
                    start = max(first, begin)
                    table = self._read_group(file, group)
                    records += table.slice(start - begin, min(last, end) - start).to_pylist()
                begin = end
        try:
            return self._adapter.validate_python(records)
        except ValidationError as error:
            raise self._make_row_error(error, first, records) from error

    def iterate_valid(self) -> Iterator[Row]:
        """Yield the rows whose cells all have their column's type; skip other rows."""
        for records in self._read_batches():
            for record in records:
                with suppress(ValidationError):
                    yield from self._adapter.validate_python([record])

    def _read(self) -> Iterator[Row]:
        before = 0
        for records in self._read_batches():
            try:
                yield from self._adapter.validate_python(records)
            except ValidationError as error:
                raise self._make_row_error(error, before, records) from error
            before += len(records)

    def _read_batches(self) -> Iterator[list[dict[str, object]]]:
        with self._open() as file:
            batches = file.iter_batches(BATCH)
            while (batch := self._read_next(batches)) is not None:
                yield batch.to_pylist()

    def _read_next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except (OSError, pa.ArrowException) as error:
            raise self._make_error(error) from error

    def _read_group(self, file: pq.ParquetFile, group: int) -> pa.Table:
        if self._held is None or self._held[0] != group:
            try:
                self._held = group, file.read_row_group(group)
            except (OSError, pa.ArrowException) as error:
                raise self._make_error(error) from error
        return self._held[1]

    def _open(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self._path)
        except (OSError, pa.ArrowException) as error:
            raise self._make_error(error) from error

    def _make_row_error(
        self, error: ValidationError, before: int, records: Sequence[dict[str, object]]
    ) -> BadInput:
        first = error.errors(include_url=False)[0]
        place, *column = first["loc"]
        row = records[int(place)].get("id")
        where = f"row {before + int(place) + 1:,}{f' ({row})' if row else ''}, {'.'.join(map(str, column))}"
        what = first["msg"]
        if first["type"] == "enum":
            what = f"{first['input']!r} is not a known label: expected {first['ctx']['expected']}"
        return BadInput(self._path, f"{where}: {what}", hint="run its stage again")

    def _make_error(self, error: Exception) -> BadInput:
        return BadInput(self._path, f"cannot be read as Parquet: {' '.join(str(error).split())}")


def count_rows(path: Path) -> int:
    """Read an artifact's number of rows from the file's footer."""
    return int(pq.read_metadata(path).num_rows)


__all__: Sequence[str] = ("ROW_GROUP", "StoredRows", "count_rows", "read_rows", "write_rows", "write_table")
