"""Read a table of questions: CSV, TSV, JSON Lines, Parquet, or a folder that `datasets` saved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.ipc

from tasks.errors import BadInput
from tasks.scoring.item_tables import PARQUET, find_kind, read_records
from tasks.scoring.items import BadItem, NumberedRecord, Record, parse_record

SPLITS = "dataset_dict.json"
"""The file in which `datasets` lists a folder's splits; each split is a subfolder."""
STATE = "state.json"
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz")
HINT = "give a .csv, .tsv, .jsonl or .parquet file, or a folder that `save_to_disk` of `datasets` wrote"


@dataclass(frozen=True)
class QuestionTable:
    """A table of questions in memory.

    file: the table's path, for errors and origins. word: the noun for a record in messages, `row` or `line`.
    """

    file: Path
    word: str
    columns: Sequence[str]
    """The column names of all readable records, in the order of their first occurrence."""
    records: Sequence[NumberedRecord]


def open_table(path: Path) -> QuestionTable:
    """Read a table. Raises BadInput if the path is missing, or is a folder without exactly one table."""
    if not path.exists():
        raise BadInput(path, "no such file or folder", hint=HINT)
    place = find_table(path) if path.is_dir() else path
    records = list(read_folder(place) if place.is_dir() else read_records(str(place)))
    named = (name for _, record in records if not isinstance(record, BadItem) for name in record)
    numbered = place.is_dir() or find_kind(str(place)) == PARQUET
    return QuestionTable(place, "row" if numbered else "line", tuple(dict.fromkeys(named)), records)


def find_table(folder: Path) -> Path:
    """Find a folder's table: the folder itself if `datasets` saved it, otherwise its only split or file.

    Raises BadInput if there is no table, or if there is more than one.
    """
    if (folder / STATE).is_file():
        return folder
    if (folder / SPLITS).is_file():
        found = sorted(path.parent for path in folder.glob(f"*/{STATE}"))
    else:
        found = sorted(path for path in folder.iterdir() if path.name.endswith(ENDINGS) and path.is_file())
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadInput(folder, "contains no table of questions", hint=HINT)
    names = ", ".join(path.name for path in found[:6])
    raise BadInput(
        folder, f"contains several tables: {names}", hint=f"name one file, such as {folder / found[0].name}"
    )


def read_folder(folder: Path) -> Iterator[NumberedRecord]:
    """Yield the rows of a folder that `datasets` saved, numbered from 1 over all files.

    If a file cannot be read to its end, a BadItem replaces its remaining rows. Raises BadInput if the folder
    contains no .arrow file, selects rows by index, or has an unreadable state file.
    """
    files = sorted(folder.glob("*.arrow"))
    if not files:
        raise BadInput(folder, "contains no .arrow file", hint="save the dataset again with save_to_disk()")
    if has_indices(folder / STATE):
        raise BadInput(
            folder,
            "selects rows by index, which Benchloom cannot read",
            hint="save the dataset with flatten_indices().save_to_disk()",
        )
    number = 0
    for file in files:
        try:
            with pa.memory_map(str(file)) as stream, pa.ipc.open_stream(stream) as batches:
                for batch in batches:
                    for record in batch.to_pylist():
                        number += 1
                        yield number, convert_record(record)
        except (pa.ArrowException, OSError, ValueError) as error:
            what = " ".join(str(error).split())[:200]
            number += 1
            yield number, BadItem(f"{file.name}: this row and all later rows cannot be read: {what}")


def has_indices(state: Path) -> bool:
    """Return whether a folder selects rows by index, which is not supported.

    Raises BadInput if the folder's state file cannot be read.
    """
    try:
        found = json.loads(state.read_bytes())
        return bool(found.get("_indices_data_files") or found.get("_indices_files"))
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise BadInput(
            state, "cannot be read as JSON", hint="save the dataset again with save_to_disk()"
        ) from error


def convert_record(record: dict[str, object]) -> Record | BadItem:
    """Convert a row to JSON types: dates become text, and NaN becomes null.

    Return a BadItem if the row cannot be converted.
    """
    try:
        return parse_record(orjson.dumps(record))
    except BadItem as error:
        return error
    except orjson.JSONEncodeError as error:
        return BadItem(f"cannot be read: {error}")
