"""How systems did, read from the tables that a page shows anyway, for the front page's table of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tasks.lineage.derivation import Derivation
from tasks.reports.measured_table import MeasuredTable
from tasks.reports.page import SystemFigure


class SystemCell(Protocol):
    """A system's cell of a table, with how many it is over."""

    @property
    def value(self) -> int | float | None: ...  # noqa: D102 - see the class
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def of(self) -> str: ...  # noqa: D102
    @property
    def failed(self) -> int: ...  # noqa: D102
    @property
    def interval(self) -> Sequence[float] | None: ...  # noqa: D102
    @property
    def basis(self) -> Derivation | None: ...  # noqa: D102


def read_systems(
    table: MeasuredTable[SystemCell],
    column: str,
    *,
    dataset: str,
    measure: str,
    symbol: str,
    bottom: float = 0,
    top: float = 1,
) -> Iterator[SystemFigure]:
    """Read a column as figures of the systems that the lines are of; a cell without a value is left out."""
    place = table.columns.index(column)
    for line in table.lines:
        cell = line.cells[place]
        if cell.value is not None:
            yield SystemFigure(
                system=" · ".join(filter(None, line.label)),
                dataset=dataset,
                measure=measure,
                symbol=symbol,
                value=cell.value,
                interval=cell.interval,
                n=cell.n,
                of=cell.of,
                failed=cell.failed,
                derivation=cell.basis,
                bottom=bottom,
                top=top,
            )
