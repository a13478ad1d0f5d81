"""What tables of figures have in common, whichever flow made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

Cell = TypeVar("Cell", covariant=True)


class MeasuredLine(Protocol[Cell]):
    """A line of a report's table: a label, and as many cells as the table has columns."""

    @property
    def label(self) -> Sequence[str]: ...  # noqa: D102 - see the class
    @property
    def cells(self) -> Sequence[Cell]: ...  # noqa: D102


class MeasuredTable(Protocol[Cell]):
    """A table of a report."""

    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102 - see the class
    @property
    def lines(self) -> Sequence[MeasuredLine[Cell]]: ...  # noqa: D102
