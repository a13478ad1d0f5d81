"""The one reader and the one writer of Parquet artifacts: the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from tasks.artifacts.rows import schema_of
from tasks.artifacts.spool import Spool
from tasks.errors import BadInput
from tasks.files import write_beside

ROW_GROUP = 65_536
BATCH = 4_096
"""Rows that are in memory at one time where an artifact is streamed."""
Row = TypeVar("Row")


def write_rows(path: Path, row: type, rows: Iterable[Any]) -> int:
    """Write dataclass rows sorted by their first column, a row group at a time; return how many.

    Rows of a Spool are read in their order, so that memory is bounded by a row group. Raises ValueError
    where two rows have the same id: one of them would be lost downstream.
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
    """Write a table beside its place and rename it there."""
    with write_beside(path) as draft, _open_writer(draft, table.schema) as writer:
        writer.write_table(table.combine_chunks(), row_group_size=ROW_GROUP)


def _open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", store_schema=False, write_statistics=True)


def _check_ids(rows: Iterable[Any], path: Path) -> Iterator[Any]:
    earlier = None
    for row in rows:
        if row.id == earlier:
            raise ValueError(f"{path.name}: two rows have the id {row.id}")
        earlier = row.id
        yield row


@cache
def _adapt(row: type) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[row])  # type: ignore[valid-type] # a type that is known when it runs


def read_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read a Parquet artifact back into dataclass rows.

    Raises BadInput where the file is missing or its columns are not those of `row`.
    """
    return list(StoredRows(path, row))


def read_sound_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read the rows whose every cell is of its type, and pass over the others: a NULL where none may be.

    For those who judge an artifact, and must not fail on what they are to name. Raises as `read_rows`.
    """
    return list(StoredRows(path, row).iterate_sound())


class StoredRows(Generic[Row]):
    """The rows of a Parquet artifact, read a batch at a time as often as they are asked for."""

    def __init__(self, path: Path, row: type[Row], limit: int | None = None) -> None:
        """limit: the first so many rows, for a preview.

        Raises BadInput where the file is missing or its columns are not those of `row`.
        """
        self._path = path
        self._adapter = _adapt(row)  # type: ignore[arg-type] # mypy: a class is no Hashable
        with self._open() as file:
            found, wanted = file.schema_arrow.names, schema_of(row).names  # type: ignore[arg-type] # mypy: no Hashable
            count = int(file.metadata.num_rows)
        if found != wanted:
            raise BadInput(
                path,
                f"has the columns {', '.join(found)}, not {', '.join(wanted)}",
                hint="run its stage again",
            )
        self._count = count if limit is None else min(count, limit)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return islice(self._read(), self._count)

    def iterate_sound(self) -> Iterator[Row]:
        """Pass over the rows of which a cell is not of its type."""
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
                raise self._refuse_row(error, before) from error
            before += len(records)

    def _read_batches(self) -> Iterator[list[dict[str, Any]]]:
        with self._open() as file:
            batches = file.iter_batches(BATCH)
            while (batch := self._take(batches)) is not None:
                yield batch.to_pylist()

    def _take(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except (OSError, pa.ArrowException) as error:
            raise self._refuse(error) from error

    def _open(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self._path)
        except (OSError, pa.ArrowException) as error:
            raise self._refuse(error) from error

    def _refuse_row(self, error: ValidationError, before: int) -> BadInput:
        first = error.errors(include_url=False)[0]
        place, *column = first["loc"]
        where = f"row {before + int(place) + 1:,}, {'.'.join(map(str, column))}"
        return BadInput(self._path, f"{where}: {first['msg']}", hint="run its stage again")

    def _refuse(self, error: Exception) -> BadInput:
        return BadInput(self._path, f"cannot be read as Parquet: {' '.join(str(error).split())}")


def count_rows(path: Path) -> int:
    """Read the number of rows from the footer."""
    return int(pq.read_metadata(path).num_rows)


__all__: Sequence[str] = ("ROW_GROUP", "StoredRows", "count_rows", "read_rows", "write_rows", "write_table")
