"""Define the ids, origins and Parquet schemas of artifact rows, which are dataclasses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Generic, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa

Row = TypeVar("Row")


@dataclass(frozen=True)
class Origin:
    """A reference from a row to one of its sources. `kind`: `row`, `call`, `evidence` or `file`.

    `reference`: `<artifact>#<row id>` for a row, the key of a recorded call, the path of a file, or a
    description of the evidence.
    """

    kind: str
    reference: str


@dataclass(frozen=True)
class Dropped:
    """A row that a stage dropped. `reason`: one of the stage's predefined reasons; `detail`: free text."""

    id: str
    reason: str
    detail: str
    origin: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class Drafts(Generic[Row]):
    """A stage's result: the kept rows and the dropped rows."""

    rows: Sequence[Row]
    dropped: Sequence[Dropped] = ()


def split_outcomes(outcomes: Sequence[Row | Dropped]) -> Drafts[Row]:
    """Split a stage's outcomes into kept rows and dropped rows, each in the original order."""
    return Drafts(
        [outcome for outcome in outcomes if not isinstance(outcome, Dropped)],
        [outcome for outcome in outcomes if isinstance(outcome, Dropped)],
    )


@dataclass(frozen=True)
class Counts:
    """Counts from a stage that writes its output itself: rows read, rows written, and drops by reason."""

    rows_in: int
    rows_out: int
    dropped: Mapping[str, int]


ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
"""The JSON encoder whose output is hashed to produce ids. Any change to the encoding would change all ids."""


def make_id(*parts: object) -> str:
    """Return a row's id: 16 hex digits of the SHA-256 of the JSON values that determine the row."""
    return hashlib.sha256(ENCODER.encode(parts).encode()).hexdigest()[:16]


SCALARS: dict[type, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
}
"""The column type for each field type."""


@cache
def schema_of(row: type) -> pa.Schema:
    """Build the Arrow schema of a row dataclass.

    Fields may be str, a label (StrEnum, stored as its string value), int, float, bool, nested dataclasses,
    tuples of these types, and `X | None` for nullable columns. Raises TypeError for other types.
    """
    return pa.schema(list(_fields_of(row)))


def _fields_of(row: type) -> list[pa.Field]:
    hints = get_type_hints(row)
    return [_field_of(field.name, hints[field.name]) for field in fields(row)]


def _field_of(name: str, hint: object) -> pa.Field:
    options = [option for option in get_args(hint) if option is not type(None)]
    nullable = type(None) in get_args(hint) and get_origin(hint) is not tuple
    return pa.field(name, _type_of(options[0] if nullable else hint), nullable=nullable)


def _type_of(hint: object) -> pa.DataType:
    if isinstance(hint, type) and hint in SCALARS:
        return SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return SCALARS[str]
    if get_origin(hint) is tuple:
        return pa.list_(pa.field("item", _type_of(get_args(hint)[0]), nullable=False))
    if is_dataclass(hint) and isinstance(hint, type):
        return pa.struct(_fields_of(hint))
    raise TypeError(
        f"no column type for {hint!r}; expected one of {', '.join(scalar.__name__ for scalar in SCALARS)}"
    )
