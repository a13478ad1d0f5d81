"""Read the rows of any artifact as items to review, with the texts to show and the texts to edit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.errors import BadInput
from tasks.judging.decisions import EDITABLE, digest_row

FORM = ("item", "artifact", "decision", "edited", "rating", "reviewer", "note", "at")
"""Columns that every form has. A row's column with the same name is shown as `row.<name>`."""
ROW_ID = re.compile(r"[0-9a-f]{16}")
NOT_SHOWN = frozenset({"id", "origin"})
DATA = "data"

Record = dict[str, Any]


@dataclass(frozen=True)
class ReviewItem:
    """A row to review. shown: the row's columns as text. texts: the texts that reviewers may edit."""

    id: str
    shown: Mapping[str, str]
    texts: Mapping[str, str]
    seen: str
    """The row's digest (`digest_row`), to detect later changes to the row."""


@dataclass(frozen=True)
class ReviewedArtifact:
    """An artifact's items by id, sorted by id."""

    path: str
    """The artifact's path relative to the project's folder."""
    columns: tuple[str, ...]
    """The columns that reviewers see for each row."""
    judged: tuple[str, ...]
    """The columns that imports compare with the artifact.

    These are the editable columns or, if there are none, all shown text columns.
    """
    editable: tuple[str, ...]
    """The editable columns, the main one first."""
    items: Mapping[str, ReviewItem]


def read_artifact(root: Path, path: Path, beside: Sequence[Path] = ()) -> ReviewedArtifact:
    """Read an artifact below the project's data/ as items to review.

    `beside`: other artifacts to show with each item. From each of these artifacts, an item shows the first
    row whose id equals the item's id or a text in one of the item's columns. Raises BadInput for a file
    outside data/, and for a file without ids or without texts.
    """
    place = locate_artifact(root, path)
    schema, records = _read_records(root / place, place)
    columns = [name for name in _list_shown(schema) if not _is_id(record[name] for record in records)]
    texts = [name for name in columns if _is_text(schema.field(name).type)]
    if not texts:
        raise BadInput(place, "has no text column to review", hint="see docs/review.md")
    editable = tuple(name for name in EDITABLE if name in texts)
    others = [_read_beside(root, other) for other in beside]
    items = {}
    for record in sorted(records, key=lambda record: str(record["id"])):
        shown = {_name_column(name): _spell(record[name]) for name in columns}
        for other, rows in others:
            shown |= {f"{other}.{name}": text for name, text in _find_named(record, rows).items()}
        own = {name: _spell(record[name]) for name in editable}
        items[record["id"]] = ReviewItem(record["id"], shown, own, digest_row(record))
    if not items:
        raise BadInput(place, "has no rows")
    every = tuple(dict.fromkeys(name for item in items.values() for name in item.shown))
    return ReviewedArtifact(place, every, tuple(map(_name_column, editable or texts)), editable, items)


def locate_artifact(root: Path, path: Path) -> str:
    """Return an artifact's path relative to the project. Raises BadInput if the path is not an artifact."""
    # Do not resolve links: an artifact may be a link into DVC's cache.
    inside = Path(os.path.normpath(root / path))
    place = inside.relative_to(root) if inside.is_relative_to(root) else None
    if place is None or place.suffix != ".parquet" or place.parts[:1] != (DATA,) or len(place.parts) < 3:
        raise BadInput(
            path,
            "is not an artifact of this project",
            hint="expected a path such as data/FLOW/.../STAGE.parquet",
        )
    if any(part.startswith(".") for part in place.parts):
        raise BadInput(path, "is a preview, so decisions would be lost", hint="run `benchloom run`")
    if not inside.is_file():
        raise BadInput(place.as_posix(), "does not exist", hint="run `benchloom run` to create it")
    return place.as_posix()


def _read_records(file: Path, place: str) -> tuple[pa.Schema, list[Record]]:
    try:
        schema = pq.read_schema(file)
        names = [field.name for field in schema if _is_text(field.type) or _is_number(field.type)]
        records: list[Record] = pq.read_table(file, columns=names).to_pylist()
    except (OSError, pa.ArrowException, ValueError) as error:
        raise BadInput(place, f"cannot be read as Parquet: {' '.join(str(error).split())}") from error
    if "id" not in names or not _is_text(schema.field("id").type):
        raise BadInput(place, "has no text column `id` to identify its rows")
    if len({record["id"] for record in records} - {None, ""}) != len(records):
        raise BadInput(place, "has rows without an id or with a duplicate id", hint="run its stage again")
    return schema, records


def _read_beside(root: Path, path: Path) -> tuple[str, dict[str, dict[str, str]]]:
    place = locate_artifact(root, path)
    schema, records = _read_records(root / place, place)
    names = _list_shown(schema)
    rows = {record["id"]: {name: _spell(record[name]) for name in names} for record in records}
    return Path(place).stem, rows


def _find_named(record: Record, rows: Mapping[str, dict[str, str]]) -> dict[str, str]:
    ids = [record["id"], *(value for value in record.values() if isinstance(value, str))]
    return next((rows[row_id] for row_id in ids if row_id in rows), {})


def _list_shown(schema: pa.Schema) -> list[str]:
    return [
        field.name
        for field in schema
        if (_is_text(field.type) or _is_number(field.type))
        and field.name not in NOT_SHOWN
        and not field.name.endswith("_id")
        and field.name.isidentifier()
    ]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_id(values: Iterable[object]) -> bool:
    """Return whether a column contains only ids of rows."""
    found = [value for value in values if value is not None]
    return bool(found) and all(isinstance(value, str) and ROW_ID.fullmatch(value) for value in found)


def _name_column(name: str) -> str:
    return f"row.{name}" if name in FORM else name


def _spell(value: object) -> str:
    return "" if value is None else str(value)
