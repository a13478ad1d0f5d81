"""The derivation of a figure: the rows that it was computed from, and the measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput

Number = int | float
CellValue = str | int | float | bool | None


@dataclass(frozen=True)
class Selection:
    """Rows of one artifact: those whose columns have the values in `where`; all rows if it is empty.

    artifact: its path without `.parquet`, or an end of the path that is unambiguous among the dependencies
    of the report's stage: `balanced`, `films/balanced`.
    """

    artifact: str
    where: Mapping[str, CellValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Derivation:
    """How a figure is computed from rows; a report's record has it under the key `basis`.

    measure: `count` of rows, number of `distinct` values of the column, `sum` or `mean` of its values
    (without nulls); any other word names a computation that is not repeated here. once: rows with
    the same id in several artifacts count once.
    """

    measure: str
    rows: tuple[Selection, ...]
    column: str = ""
    once: bool = False

    def to_json(self) -> dict[str, object]:
        """Encode it for `read_derivation`, in JSON types."""
        rows = [{"artifact": selection.artifact, "where": dict(selection.where)} for selection in self.rows]
        return {"measure": self.measure, "column": self.column, "once": self.once, "rows": rows}


@dataclass(frozen=True)
class SelectedRows:
    """The rows that a selection matches. values: of the derivation's column, empty if it names none."""

    path: Path
    where: Mapping[str, CellValue]
    ids: Sequence[str]
    values: Sequence[CellValue]


def read_derivation(data: object) -> Derivation:
    """Decode a figure's `basis` from JSON types. Raises ValueError if it is malformed."""
    try:
        return _DERIVATION.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"is no basis of a figure: {place}: {first['msg']}") from error


def select_rows(path: Path, selection: Selection, column: str) -> SelectedRows:
    """Read the ids of the selected rows, and the values of `column` if it is not empty.

    Raises BadInput if the artifact cannot be read or lacks a column.
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
    return SelectedRows(path, selection.where, ids, table[column].to_pylist() if column else ())


def measure_rows(derivation: Derivation, parts: Iterable[SelectedRows]) -> Number | None:
    """Recompute a figure from its rows; None if its measure is not in `MEASURES`."""
    measure = MEASURES.get(derivation.measure)
    if measure is None:
        return None
    ids: list[str] = []
    values: list[CellValue] = []
    for part in parts:
        ids += part.ids
        values += part.values
    if derivation.once:
        first_index = {row_id: index for index, row_id in reversed(list(enumerate(ids)))}
        values = [values[index] for index in first_index.values()] if values else []
        ids = list(first_index)
    return measure(ids, [value for value in values if value is not None])


def is_same_figure(recorded: Number | None, recomputed: Number | None) -> bool:
    """Return whether two figures agree to ten significant digits."""
    if recorded is None or recomputed is None:
        return recorded is recomputed
    return math.isclose(recorded, recomputed, rel_tol=5e-10, abs_tol=0)


def _sum(ids: Sequence[str], values: Sequence[CellValue]) -> Number:
    return sum(cast("Sequence[Number]", values))


def _average(ids: Sequence[str], values: Sequence[CellValue]) -> Number | None:
    return math.fsum(cast("Sequence[Number]", values)) / len(values) if values else None


MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[CellValue]], Number | None]] = {
    "count": lambda ids, values: len(ids),
    "distinct": lambda ids, values: len(set(values)),
    "sum": _sum,
    "mean": _average,
}
_DERIVATION = TypeAdapter(Derivation)
