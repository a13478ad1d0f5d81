"""Read no more of an answer than tells it from another, and bring both into a form that can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value

Rows = Sequence[tuple[Value, ...]]


def read_some(safe: SafeDatabase, statement: str, values: tuple[Value, ...], count: int) -> Rows:
    """Read the first rows of a query's result, so many at most. Raises SqlError."""
    for batch in safe.stream(statement, count, values):
        return batch
    return []


def make_comparable(rows: Iterable[Sequence[Value]]) -> list[str]:
    """Encode an answer's rows, whatever their order; numbers to ten digits.

    A mean may be summed up in another order elsewhere, and a whole one is typed differently by engines.
    """
    return sorted(json.dumps([_round(cell) for cell in row]) for row in rows)


def _round(cell: Value) -> Value:
    if not isinstance(cell, float):
        return cell
    number = float(f"{cell:.10g}")
    return int(number) if number.is_integer() else number
