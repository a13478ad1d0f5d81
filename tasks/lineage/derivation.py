"""Define the derivation of a figure: the source rows and the measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import TypeAdapter, ValidationError

from tasks.lineage.selection import CellValue, SelectedRows, Selection, Values

Number = int | float


@dataclass(frozen=True)
class Derivation:
    """The computation of a figure from rows; stored in a report's record under the key `basis`.

    `measure`: one of these names; a figure with any other measure cannot be recomputed:
    - `count`: number of rows.
    - `distinct`: number of distinct values of the column.
    - `sum`, `mean`: sum or mean of the column's values, ignoring nulls.
    - `share`: share of the values that equal `hit`; a list counts if it contains `hit`.

    `column`: an expression, as in `Selection.where`. `once`: whether rows with the same id in several
    artifacts count only once.
    """

    measure: str
    rows: tuple[Selection, ...]
    column: str = ""
    once: bool = False
    hit: CellValue = None

    def to_json(self) -> dict[str, object]:
        """Encode the derivation in JSON types; `read_derivation` decodes it."""
        rows = [selection.to_json() for selection in self.rows]
        basis = {"measure": self.measure, "column": self.column, "once": self.once, "rows": rows}
        return basis | ({} if self.hit is None else {"hit": self.hit})


def read_derivation(data: object) -> Derivation:
    """Decode a figure's `basis` from JSON types. Raises ValueError if the basis is malformed."""
    try:
        return _DERIVATION.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"is not a valid basis of a figure: {place}: {first['msg']}") from error


def measure_rows(derivation: Derivation, parts: Iterable[SelectedRows]) -> Number | None:
    """Recompute a figure from its rows.

    Returns None if the measure is not in `MEASURES`, or if a mean or a share has no values.
    """
    measure = MEASURES.get(derivation.measure)
    if measure is None:
        return None
    ids: list[str] = []
    values: list[CellValue | Values] = []
    for part in parts:
        ids += part.ids
        values += part.values
    if derivation.once:
        # Reversed: of several rows with the same id, the first row is kept.
        first_index = {row_id: index for index, row_id in reversed(list(enumerate(ids)))}
        values = [values[index] for index in first_index.values()] if values else []
        ids = list(first_index)
    return measure(ids, [value for value in values if value is not None], derivation.hit)


def is_same_figure(recorded: Number | None, recomputed: Number | None) -> bool:
    """Return whether two figures are equal to ten significant digits."""
    if recorded is None or recomputed is None:
        return recorded is recomputed
    # Reports round figures to ten significant digits, a relative error of at most 5e-10.
    return math.isclose(recorded, recomputed, rel_tol=5e-10, abs_tol=0)


def _sum(ids: Sequence[str], values: Sequence[CellValue | Values], hit: CellValue) -> Number:
    return sum(cast("Sequence[Number]", values))


def _average(ids: Sequence[str], values: Sequence[CellValue | Values], hit: CellValue) -> Number | None:
    return math.fsum(cast("Sequence[Number]", values)) / len(values) if values else None


def _share(ids: Sequence[str], values: Sequence[CellValue | Values], hit: CellValue) -> Number | None:
    hits = sum(hit in value if isinstance(value, tuple) else value == hit for value in values)
    return hits / len(values) if values else None


MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[CellValue | Values], CellValue], Number | None]] = {
    "count": lambda ids, values, hit: len(ids),
    "distinct": lambda ids, values, hit: len(set(values)),
    "sum": _sum,
    "mean": _average,
    "share": _share,
}
_DERIVATION = TypeAdapter(Derivation)
