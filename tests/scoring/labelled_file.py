"""Write an artifact with a cell that is not a valid label, and check the error."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput

UNKNOWN = "Splendid"


def assert_unknown_word_is_named(
    folder: Path, stem: str, row: Any, column: str, cell: Any = UNKNOWN, place: str = ""
) -> None:
    """Assert that the error for an unknown label names artifact, row and column. cell: the column's value."""
    path = folder / f"{stem}.parquet"
    write_rows(path, type(row), [row])
    assert read_rows(path, type(row)) == [row]
    table = pq.read_table(path)
    number = table.schema.get_field_index(column)
    field = table.schema.field(number)
    pq.write_table(table.set_column(number, field, pa.array([cell], field.type)), path)
    said = rf"{stem}\.parquet: row 1 \({row.id}\), {place or column}: '{UNKNOWN}' is not a known label"
    with pytest.raises(BadInput, match=said):
        read_rows(path, type(row))
