"""The one reader and the one writer of Parquet artifacts: the same rows give the same bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.rows import schema_of
from tasks.artifacts.spool import Spool
from tasks.errors import BadInput
from tasks.files import write_beside

ROW_GROUP = 65_536
BATCH = 4_096
"""Rows that are in memory at one time where an artifact is streamed."""
PLAIN = frozenset({str, int, float, bool, type(None)})
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
    count = 0
    with write_beside(path) as draft, _open_writer(draft, schema) as writer:
        while group := list(islice(checked, ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist([_to_record(each) for each in group], schema=schema))
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
    for each in rows:
        if each.id == earlier:
            raise ValueError(f"{path.name}: two rows have the id {each.id}")
        earlier = each.id
        yield each


def _to_record(value: Any) -> Any:
    """Give a row's plain values; dataclasses.asdict would copy each of them."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, (tuple, list)):
        return [_to_record(each) for each in value]
    if dataclasses.is_dataclass(value):
        return {name: each if type(each) in PLAIN else _to_record(each) for name, each in vars(value).items()}
    return value


def read_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read a Parquet artifact back into dataclass rows.

    Raises BadInput where the file is missing or its columns are not those of `row`.
    """
    return list(StoredRows(path, row))


class StoredRows(Generic[Row]):
    """The rows of a Parquet artifact, read a batch at a time as often as they are asked for."""

    def __init__(self, path: Path, row: type[Row], limit: int | None = None) -> None:
        """limit: the first so many rows, for a preview.

        Raises BadInput where the file is missing or its columns are not those of `row`.
        """
        self._path, self._row = path, row
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

    def _read(self) -> Iterator[Row]:
        with self._open() as file:
            batches = file.iter_batches(BATCH)
            while (batch := self._take(batches)) is not None:
                for record in batch.to_pylist():
                    yield _build(self._row, record)

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

    def _refuse(self, error: Exception) -> BadInput:
        return BadInput(self._path, f"cannot be read as Parquet: {' '.join(str(error).split())}")


def count_rows(path: Path) -> int:
    """Read the number of rows from the footer."""
    return int(pq.read_metadata(path).num_rows)


def _build(row: type[Row], record: dict[str, Any]) -> Row:
    hints = _hints_of(row)  # type: ignore[arg-type] # mypy: a class is no Hashable
    return row(**{name: _convert(hints[name], value) for name, value in record.items()})


@cache
def _hints_of(row: type) -> dict[str, Any]:
    # Asked once per row, not once per type, this alone took forty seconds of 20,000 questions.
    return get_type_hints(row)


def _convert(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if type(None) in get_args(hint) and get_origin(hint) is not tuple:
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is tuple:
        return tuple(_convert(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, value)
    return value


__all__: Sequence[str] = ("ROW_GROUP", "StoredRows", "count_rows", "read_rows", "write_rows", "write_table")
