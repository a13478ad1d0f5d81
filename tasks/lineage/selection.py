"""Select the artifact rows from which a figure was computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.errors import BadInput
from tasks.lineage.nodes import Record

CellValue = str | int | float | bool | None
Values = tuple[CellValue, ...]

FUNCTIONS: Mapping[str, Callable[[Values], CellValue]] = {
    "count": len,
    "distinct": lambda values: len(set(values)),
    "sum": lambda values: sum(value for value in values if isinstance(value, (int, float))),
}
"""The functions that an expression may apply to the elements of a list column."""


@dataclass(frozen=True)
class Selection:
    """Rows of one artifact that meet every condition; all rows if there are no conditions.

    `artifact`: the artifact's path without `.parquet`, or the end of this path: `balanced`, `films/balanced`.
    The end must be unambiguous among the dependencies of the report's stage. `where`: expression -> the
    required value, or a tuple of allowed values. An expression is one of these:
    - a column.
    - a part of a column, such as `mean.value`; if the column is a list, at least one element's part must
      match
    - a function of a column or part: `count(turns)`, `distinct(skills.name)`, `sum(rows.filter_pass)`.

    `through`: column -> a selection of another artifact's rows. The column's value must be the id of a row
    that the other selection matches.
    """

    artifact: str
    where: Mapping[str, CellValue | tuple[CellValue, ...]] = field(default_factory=dict)
    through: Mapping[str, Selection] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Encode the selection in JSON types; `through` is left out if it is empty."""
        joined = {column: other.to_json() for column, other in self.through.items()}
        where = {
            name: list(value) if isinstance(value, tuple) else value for name, value in self.where.items()
        }
        return {"artifact": self.artifact, "where": where, **({"through": joined} if joined else {})}


@dataclass(frozen=True)
class SelectedRows:
    """The rows that a selection matches.

    `values`: the values of the derivation's expression, empty if the derivation has no expression. For a list
    column, each value is a tuple of the elements' values.
    """

    path: Path
    where: Mapping[str, CellValue | tuple[CellValue, ...]]
    ids: Sequence[str]
    values: Sequence[CellValue | Values]


def select_rows(
    path: Path, selection: Selection, expression: str, joined: Mapping[str, Sequence[str]] | None = None
) -> SelectedRows:
    """Read the ids of the selected rows, and the values of `expression` if it is not empty.

    `joined`: for each column of `selection.through`, the allowed ids. Raises BadInput if the artifact cannot
    be read or lacks a column.
    """
    joined = joined or {}
    asked = [*selection.where, *([expression] if expression else [])]
    wanted = list(dict.fromkeys(["id", *joined, *map(_name_column, asked)]))
    try:
        table = pq.read_table(path, columns=wanted)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(path, f"cannot be read: {str(error).partition(chr(10))[0]}") from error
    if missing := [name for name in wanted if name not in table.column_names]:
        raise BadInput(path, f"has no column {', '.join(missing)}")
    for column, ids in joined.items():
        table = table.filter(pc.is_in(pc.cast(table[column], pa.string()), pa.array(ids, pa.string())))
    nested = {}
    for name, value in selection.where.items():
        if name in table.column_names and not pa.types.is_nested(table.schema.field(name).type):
            table = table.filter(_match_column(table[name], value))
        else:
            nested[name] = value
    if nested:
        records = table.select(list(dict.fromkeys(map(_name_column, nested)))).to_pylist()
        table = table.filter(pa.array([_fits(record, nested) for record in records], pa.bool_()))
    ids = pc.cast(table["id"], pa.string()).to_pylist()
    if not expression:
        return SelectedRows(path, selection.where, ids, ())
    records = table.select([_name_column(expression)]).to_pylist()
    return SelectedRows(path, selection.where, ids, [evaluate(record, expression) for record in records])


def evaluate(record: Record, expression: str) -> CellValue | Values:
    """Evaluate an expression on a row.

    Returns a tuple of values for a list column without a function, otherwise one value.
    """
    function, bracket, inner = expression.partition("(")
    place = inner.removesuffix(")") if bracket else expression
    found: CellValue | Values = _descend(record, place.split("."))
    if not bracket:
        return found
    return FUNCTIONS[function](found if isinstance(found, tuple) else (found,))


def _descend(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return tuple(_flatten(_descend(part, names) for part in value))
    if not names or value is None:
        return value
    return _descend(value[names[0]], names[1:])


def _flatten(values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def _fits(record: Record, where: Mapping[str, CellValue | tuple[CellValue, ...]]) -> bool:
    for expression, value in where.items():
        found = evaluate(record, expression)
        allowed = value if isinstance(value, tuple) else (value,)
        if not any(value in allowed for value in (found if isinstance(found, tuple) else (found,))):
            return False
    return True


def _match_column(column: pa.ChunkedArray, value: CellValue | tuple[CellValue, ...]) -> pa.ChunkedArray:
    if isinstance(value, tuple):
        return pc.is_in(column, pa.array(value, column.type))
    # In Arrow, a comparison with null gives null, so `equal` would match no row.
    return pc.is_null(column) if value is None else pc.equal(column, pa.scalar(value))


def _name_column(expression: str) -> str:
    """Return the name of the column that an expression reads."""
    return expression.rpartition("(")[2].rstrip(")").partition(".")[0]
