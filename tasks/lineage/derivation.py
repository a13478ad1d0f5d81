"""What a figure was computed from: which rows of which artifacts, and by what measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.errors import BadInput

Number = int | float


@dataclass(frozen=True)
class Selection:
    """Rows of one artifact: those whose columns hold these values; all of them where none is given.

    artifact: its path without `.parquet`, or the end of it, as far as it is unambiguous among what the
    report's stage depends on: `balanced`, `films/balanced`.
    """

    artifact: str
    where: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Basis:
    """How a figure follows from rows.

    measure: `count` of rows, number of `distinct` values of the column, `sum` or `mean` of its values
    (null is left out); any other word names a computation that is not repeated here.
    once: rows with one id in several artifacts are one thing and count once.
    """

    measure: str
    rows: tuple[Selection, ...]
    column: str = ""
    once: bool = False

    def to_json(self) -> dict[str, Any]:
        """Give what `read_basis` reads."""
        rows = [{"artifact": each.artifact, "where": dict(each.where)} for each in self.rows]
        return {"measure": self.measure, "column": self.column, "once": self.once, "rows": rows}


@dataclass(frozen=True)
class Selected:
    """The rows that a selection comes to. values: of the basis's column, or nothing."""

    path: Path
    where: Mapping[str, Any]
    ids: Sequence[str]
    values: Sequence[Any]


def read_basis(data: Any) -> Basis:
    """Read a basis out of a report. Raises ValueError where it is none."""
    try:
        rows = tuple(Selection(str(each["artifact"]), dict(each.get("where") or {})) for each in data["rows"])
        return Basis(str(data["measure"]), rows, str(data.get("column") or ""), bool(data.get("once")))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no basis of a figure: {error!r}") from error


def select_rows(path: Path, selection: Selection, column: str) -> Selected:
    """Read the ids, and the column where one is named, of the rows selected.

    Raises BadInput where the artifact cannot be read or lacks a column.
    """
    wanted = list(dict.fromkeys(["id", *selection.where, *([column] if column else [])]))
    try:
        table = pq.read_table(path, columns=wanted)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(path, f"cannot be read: {str(error).partition(chr(10))[0]}") from error
    if missing := [name for name in wanted if name not in table.column_names]:
        raise BadInput(path, f"has no column {', '.join(missing)}")
    for name, value in selection.where.items():
        table = table.filter(
            pc.is_null(table[name]) if value is None else pc.equal(table[name], pa.scalar(value))
        )
    ids = pc.cast(table["id"], pa.string()).to_pylist()
    return Selected(path, selection.where, ids, table[column].to_pylist() if column else ())


def measure_rows(basis: Basis, parts: Iterable[Selected]) -> Number | None:
    """Compute the figure again; None where its measure is none of those known here."""
    measure = MEASURES.get(basis.measure)
    if measure is None:
        return None
    ids: list[str] = []
    values: list[Any] = []
    for part in parts:
        ids += part.ids
        values += part.values
    if basis.once:
        places = {row_id: place for place, row_id in reversed(list(enumerate(ids)))}
        values = [values[place] for place in places.values()] if values else []
        ids = list(places)
    return measure(ids, [each for each in values if each is not None])


def agree(one: Number | None, other: Number | None) -> bool:
    """Tell whether two figures are the same to ten significant digits."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=5e-10, abs_tol=0)


MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[Any]], Number | None]] = {
    "count": lambda ids, values: len(ids),
    "distinct": lambda ids, values: len(set(values)),
    "sum": lambda ids, values: sum(values),
    "mean": lambda ids, values: math.fsum(values) / len(values) if values else None,
}
