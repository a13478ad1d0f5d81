"""Read items from JSON Lines or from a table (CSV, TSV or Parquet), one item per row.

CSV and TSV files may be gzipped. An unreadable row is yielded as a `BadItem`, not raised as an error, so that
the other rows can be scored.
"""

from __future__ import annotations

import csv
import datetime as dt
import difflib
import io
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from tasks.errors import BadInput
from tasks.scoring.items import (
    MAX_LINE_BYTES,
    BadItem,
    NumberedRecord,
    Record,
    describe_source,
    load_json,
    open_items,
    read_objects,
)

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
BATCH = 1024


def find_kind(path: str) -> str:
    """Return a table's suffix (`.csv`, `.tsv` or `.parquet`); "" for any other file."""
    suffix = PurePath(path.lower().removesuffix(".gz")).suffix
    return suffix if suffix in DELIMITERS or suffix == PARQUET else ""


def read_records(
    path: str, columns: Sequence[str] = (), texts: Collection[str] | None = None
) -> Iterator[NumberedRecord]:
    """Yield the records of a table or of JSON Lines. Arguments and errors: see `read_table`, `open_items`."""
    if find_kind(path):
        yield from read_table(path, columns, texts)
        return
    with open_items(path) as stream:
        yield from read_objects(stream)


def read_table(
    path: str, columns: Sequence[str] = (), texts: Collection[str] | None = None
) -> Iterator[NumberedRecord]:
    """Yield the rows of a table with their numbers; the number of a CSV row is its first line's number.

    `columns`: names that the header must contain. `texts`: columns of a CSV file whose cells are plain text;
    None means all columns. Cells of other columns are parsed as JSON if they are valid JSON. An empty CSV
    cell is null. Raises BadInput if the file is missing, if a CSV file cannot be opened, is binary or is
    UTF-16, or if a column is missing or occurs twice. An unreadable row is yielded as a BadItem.
    """
    kind = find_kind(path)
    if kind == PARQUET:
        yield from _read_parquet(path, columns)
    else:
        yield from _read_csv(path, DELIMITERS[kind], columns, texts)


def check_columns(path: str, found: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise BadInput if a table lacks a column or has two columns with the same name."""
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name, found, 1, 0.6)
            raise BadInput(
                describe_source(path),
                f"has no column {name}; it has {', '.join(found)[:200] or 'none'}",
                hint=f"{f'did you mean {near[0]}? ' if near else ''}the metric needs {', '.join(wanted)}",
            )
    for name in found:
        if found.count(name) > 1:
            named = f"named {name}" if name else "without a name"
            raise BadInput(describe_source(path), f"has two columns {named}")


def _read_csv(
    path: str, delimiter: str, columns: Sequence[str], texts: Collection[str] | None
) -> Iterator[NumberedRecord]:
    with open_items(path) as stream, _long_cells():
        # Bytes that are not UTF-8 become lone surrogates, which `_make_record` detects.
        lines = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        # Without `strict`, csv accepts an unclosed quote and merges all following rows into one cell.
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
        except (csv.Error, EOFError, OSError) as error:
            raise BadInput(describe_source(path), f"the header cannot be read ({error})") from error
        check_columns(path, header, columns)
        while True:
            number = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except (csv.Error, EOFError, OSError) as error:
                yield number, BadItem(f"this row and all later rows cannot be read ({error})")
                return
            if cells:
                yield number, _make_record(header, cells, texts)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Allow cells up to the maximum line length in the `with` block; csv's limit is global to the process."""
    before = csv.field_size_limit(MAX_LINE_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _make_record(
    header: Sequence[str], cells: Sequence[str], texts: Collection[str] | None
) -> Record | BadItem:
    if len(cells) != len(header):
        return BadItem(f"has {len(cells)} cells, but the header has {len(header)}")
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return BadItem("is not valid UTF-8")
    return {
        name: _read_cell(cell, texts is None or name in texts)
        for name, cell in zip(header, cells, strict=True)
    }


def _read_cell(cell: str, is_text: bool) -> Any:
    if not cell:
        return None
    if not is_text:
        with suppress(ValueError):
            return load_json(cell.encode())
    return cell


def _read_parquet(path: str, columns: Sequence[str]) -> Iterator[NumberedRecord]:
    # pyarrow is imported only for a Parquet file, so that `score` starts faster for other files.
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as table:
            check_columns(path, table.schema_arrow.names, columns)
            for batch in table.iter_batches(BATCH):
                for record in batch.to_pylist():
                    number += 1
                    try:
                        yield number, {name: _to_json(value) for name, value in record.items()}
                    except BadItem as error:
                        yield number, error
    except FileNotFoundError as error:
        raise BadInput(path, "no such file or folder") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        what = " ".join(str(error).split())[:200]
        yield number + 1, BadItem(f"cannot be read as Parquet: {what}")


def _to_json(value: Any) -> Any:
    """Convert a cell to a JSON value. Raises BadItem if JSON cannot represent the value."""
    if isinstance(value, list):
        return [_to_json(member) for member in value]
    if isinstance(value, dict):
        return {str(name): _to_json(member) for name, member in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise BadItem("contains NaN or Infinity, which JSON cannot represent")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    raise BadItem(f"contains {type(value).__name__}, which JSON cannot represent")
