"""Read the rows of a figure's cell for `bench.intervals` from Parquet, by the cell's basis."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]
FUNCTIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "distinct": lambda values: len(set(values)),
    "sum": sum,
}


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def read_table(path: Path) -> Sequence[Row]:
    """Read a Parquet file's rows."""
    return tuple(pq.read_table(path).to_pylist())


def choose_rows(selection: Mapping[str, Any], folder: Path, root: Path) -> list[Row]:
    """Return the rows of a basis's selection. folder: folder of artifacts that have a short name."""
    joined = {
        column: {row["id"] for row in choose_rows(other, folder, root)}
        for column, other in (selection.get("through") or {}).items()
    }
    return [
        row
        for row in read_table(find_artifact(str(selection["artifact"]), folder, root))
        if all(row[column] in ids for column, ids in joined.items())
        and all(_fits(read_value(row, name), wanted) for name, wanted in selection["where"].items())
    ]


def find_artifact(name: str, folder: Path, root: Path) -> Path:
    """Find an artifact by its path from the root, or by name in the figures' folder or a parent folder."""
    places = [
        root / f"{name}.parquet",
        *(above / f"{name}.parquet" for above in (folder, *folder.parents[:2])),
    ]
    return next(place for place in places if place.is_file())


def read_value(row: Row, expression: str) -> Any:
    """Return `column`, `column.part`, or a function of these, for a row; parts of a list form a list."""
    function, bracket, inner = expression.partition("(")
    value: Any = row
    for name in (inner.rstrip(")") if bracket else expression).split("."):
        value = [part[name] for part in value] if isinstance(value, list) else value[name]
    return FUNCTIONS[function](value if isinstance(value, list) else [value]) if bracket else value


def _fits(value: Any, wanted: Any) -> bool:
    allowed = wanted if isinstance(wanted, list) else [wanted]
    return any(part in allowed for part in value) if isinstance(value, list) else value in allowed
