"""Declare tables with slices of outcomes as rows and columns, and measures as cells; then fill the tables.

An outcome is the result of one system on one item: item, answer and scores, joined by the paper's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from tasks.lineage.selection import CellValue
from tasks.reports.tables import Cell, FigureTable, Line

Outcome = TypeVar("Outcome")
Where = Mapping[str, CellValue | tuple[CellValue, ...]]
"""Conditions on the columns of an artifact, in the format of a `Selection`."""


@dataclass(frozen=True)
class Slice(Generic[Outcome]):
    """A named filter over outcomes.

    `name`: the header of a column, or the label of a line. `has`: whether an outcome is in the slice; None
    accepts all outcomes. `where`: the same filter as conditions on rows, for lineage. `why`: the reason for
    empty cells, such as `not run`; if given, no measure is computed.
    """

    name: str | tuple[str, ...]
    has: Callable[[Outcome], bool] | None = None
    where: Where = field(default_factory=dict)
    why: str = ""

    @property
    def label(self) -> tuple[str, ...]:
        """The name as a tuple of strings, for the label of a line."""
        return (self.name,) if isinstance(self.name, str) else self.name

    def choose(self, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
        """Return the outcomes in the slice."""
        return outcomes if self.has is None else [outcome for outcome in outcomes if self.has(outcome)]


@dataclass(frozen=True)
class Measure(Generic[Outcome]):
    """A named function that computes cells from outcomes; each cell has its own denominator.

    `fill`: computes a cell from outcomes and conditions. These are the conditions of the cell's row and
    column; they become the cell's `basis`. `empty`: makes an empty cell from a slice's reason. `form`: see
    `FigureTable.forms`.
    """

    name: str
    fill: Callable[[Sequence[Outcome], Where], Cell]
    empty: Callable[[str], Cell]
    form: str = ""


@dataclass(frozen=True)
class Table(Generic[Outcome]):
    """A table of a paper.

    Each slice in `rows` is a line. Each pair of a slice in `columns` and a measure is a column. `columns`: if
    empty, the table has one column per measure. With several columns and several measures, a column is named
    `column: measure`.
    """

    number: str
    title: str
    heads: tuple[str, ...]
    rows: Sequence[Slice[Outcome]]
    measures: Sequence[Measure[Outcome]]
    columns: Sequence[Slice[Outcome]] = ()
    notes: tuple[str, ...] = ()

    def fill(self, outcomes: Sequence[Outcome]) -> FigureTable:
        """Return the filled table; each cell is computed over the outcomes of its row and column."""
        columns = self.columns or (Slice[Outcome](""),)
        lines = tuple(
            Line(
                row.label,
                tuple(
                    self._measure(measure, row, column, column.choose(chosen))
                    for column in columns
                    for measure in self.measures
                ),
            )
            for row in self.rows
            for chosen in [row.choose(outcomes)]
        )
        return FigureTable(
            self.number,
            self.title,
            self.heads,
            tuple(self._name(column, measure) for column in columns for measure in self.measures),
            lines,
            self.notes,
            self._list_forms(len(columns)),
            len(self.measures) if self.columns and len(self.measures) > 1 else 1,
        )

    def _measure(
        self,
        measure: Measure[Outcome],
        row: Slice[Outcome],
        column: Slice[Outcome],
        outcomes: Sequence[Outcome],
    ) -> Cell:
        why = row.why or column.why
        return measure.empty(why) if why else measure.fill(outcomes, {**row.where, **column.where})

    def _name(self, column: Slice[Outcome], measure: Measure[Outcome]) -> str:
        name = " · ".join(column.label)
        if not name:
            return measure.name
        return name if len(self.measures) == 1 else f"{name}: {measure.name}"

    def _list_forms(self, columns: int) -> tuple[str, ...]:
        forms = tuple(measure.form for measure in self.measures)
        if len(set(forms)) == 1:
            return forms[:1] if forms[0] else ()
        return forms * columns


def tabulate(
    heads: tuple[str, ...],
    rows: Iterable[tuple[str | tuple[str, ...], Outcome]],
    columns: Mapping[str, Callable[[Outcome], Cell]],
    title: str = "",
    *,
    forms: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> FigureTable:
    """Return an unnumbered table of figures that are computed elsewhere.

    `rows`: pairs (label of the line, object with the line's figures). `columns`: name -> function from this
    object to a cell.
    """
    lines = tuple(
        Line((label,) if isinstance(label, str) else label, tuple(read(row) for read in columns.values()))
        for label, row in rows
    )
    return FigureTable("", title, heads, tuple(columns), lines, notes, forms)


def by(
    read: Callable[[Outcome], CellValue], groups: Mapping[CellValue, str], expression: str = ""
) -> tuple[Slice[Outcome], ...]:
    """Return one slice per group of outcomes.

    read: returns an outcome's group value. groups: value -> name of the slice. expression: the column with
    the value, for lineage; empty if the slices have no conditions on rows.
    """

    def make(value: CellValue, name: str) -> Slice[Outcome]:
        return Slice(name, lambda outcome: read(outcome) == value, {expression: value} if expression else {})

    return tuple(make(value, name) for value, name in groups.items())


def note(table: FigureTable, *notes: str) -> FigureTable:
    """Return a filled table with additional notes below it."""
    return replace(table, notes=(*table.notes, *notes))
