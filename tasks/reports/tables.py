"""Define the figure tables of report pages, and encode the tables for records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from statistics import fmean

from tasks.lineage.derivation import Derivation
from tasks.lineage.figures import encode_figure
from tasks.reports.page import SystemFigure
from tasks.reports.plurals import agree
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import Interval, find_mean_interval, find_share_interval

DIGITS = 10
"""Significant digits of floats in records."""
DRAWS = Bootstrap()
ROWS = "interactions"
OPTIONAL = ("unjudged", "kind", "forms", "group")
"""Fields that are omitted in the JSON record if they have their default values."""


@dataclass(frozen=True)
class Cell:
    """One figure of a table. Failures are counted separately and are never part of the value."""

    value: int | float | None
    """The value; counts are integers. None if the value is not defined."""
    n: int
    """Number of items from which the value is computed."""
    failed: int
    """Number of items without a value: no answer or no verdict."""
    interval: Interval | None
    """95% interval: a Wilson interval for a share, a bootstrap interval for a mean; None if not computed."""
    of: str
    """Noun for the items in `n` and `failed`."""
    why: str = ""
    """The reason why there is no value or no interval."""
    basis: Derivation | None = None
    """The source rows of the value; None if unknown, or for an empty cell."""
    unjudged: int = 0
    """Number of items in `n` that have no verdict and count as wrong, if the benchmark's paper defines
    accuracy this way."""
    kind: str = ""
    """The rule and mode of the figure, in tables with several rules or modes."""


@dataclass(frozen=True)
class Line:
    """One line of a table. label: one text per label column."""

    label: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class FigureTable:
    """A table of a report."""

    number: str
    """The table's number in the benchmark's paper (`2`) or another short name (`errors`); may be empty."""
    title: str
    heads: tuple[str, ...]
    """Headers of the label columns."""
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    """Formats of the values: one format for all columns, or one format per column.

    `share`: in percent. `difference`: in percentage points with a sign. `p`: a p value. `mean`: two decimals.
    `count`: one decimal, or none for whole numbers. `scale:BOTTOM:TOP`: plotted on this scale. `shift:REACH`:
    a difference, plotted on a scale from -REACH to REACH. By default, the decimals depend on the value.
    """
    group: int = 1
    """Number of columns under each common header; if above 1, the column names are `head: measure`."""

    @property
    def has_kinds(self) -> bool:
        """Whether any cell names the rule and mode of its figure."""
        return any(cell.kind for line in self.lines for cell in line.cells)

    def form_of(self, column: int) -> str:
        """Return the format of a column. column: index from 0."""
        return "" if not self.forms else self.forms[column if len(self.forms) > 1 else 0]


def leave_empty(why: str, of: str = ROWS, failed: int = 0) -> Cell:
    """Return a cell without a value. why: the reason."""
    return Cell(None, 0, failed, None, of, why)


def count_cell(
    value: float | None, n: int, of: str, failed: int = 0, derivation: Derivation | None = None
) -> Cell:
    """Return a cell for a count, or for a figure that is computed elsewhere."""
    return Cell(value, n, failed, None, of, "" if value is not None else f"no {of}", derivation)


def rate_cell(outcomes: Sequence[bool | None], of: str = ROWS, derivation: Derivation | None = None) -> Cell:
    """Compute the share of True values (0 to 1) with a Wilson interval; None counts as failed."""
    given = [outcome for outcome in outcomes if outcome is not None]
    failed = len(outcomes) - len(given)
    if not given:
        return leave_empty(_explain(failed, of), of, failed)
    hits = sum(given)
    interval, why = find_share_interval(hits, len(given), of)
    return Cell(hits / len(given), len(given), failed, interval, of, why, derivation)


def mean_cell(
    values: Sequence[float | None],
    of: str = ROWS,
    *,
    interval: bool = False,
    derivation: Derivation | None = None,
) -> Cell:
    """Compute a mean, optionally with a bootstrap interval; None counts as failed."""
    given = [value for value in values if value is not None]
    failed = len(values) - len(given)
    if not given:
        return leave_empty(_explain(failed, of), of, failed)
    drawn, why = (
        find_mean_interval(given, of=of, draws=DRAWS.draws, seed=DRAWS.seed) if interval else (None, "")
    )
    return Cell(fmean(given), len(given), failed, drawn, of, why, derivation)


def _explain(failed: int, of: str) -> str:
    return f"no value: {failed} {agree(of, failed)} failed" if failed else f"no {of}"


def round_figures(value: object) -> object:
    """Convert figures to JSON types recursively, with floats rounded to 10 significant digits.

    Dataclasses become mappings from field name to value, without `OPTIONAL` fields that have their default.
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if is_dataclass(value) and not isinstance(value, type):
        shown = [field for field in fields(value) if not _is_left_out(value, field.name, field.default)]
        return {field.name: round_figures(getattr(value, field.name)) for field in shown}
    if isinstance(value, Mapping):
        return {str(name): round_figures(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [round_figures(part) for part in value]
    return value


def _is_left_out(value: object, name: str, default: object) -> bool:
    return isinstance(value, Cell | FigureTable) and name in OPTIONAL and getattr(value, name) == default


def encode_tables(tables: Mapping[str, FigureTable]) -> list[dict[str, object]]:
    """Encode tables with their keys, in order, for a page's record."""
    return [{"key": key, **encode_table(table)} for key, table in tables.items()]


def encode_table(table: FigureTable) -> dict[str, object]:
    """Encode a table; the key `basis` of a figure contains the figure's derivation from source rows."""
    return {
        "title": table.title,
        "lines": [
            {
                "label": " · ".join(filter(None, line.label)),
                "cells": [
                    encode_cell(column, cell) for column, cell in zip(table.columns, line.cells, strict=True)
                ],
            }
            for line in table.lines
        ],
    }


def encode_cell(column: str, cell: Cell) -> dict[str, object]:
    """Encode a cell as a figure; a cell without a value is encoded as its reason instead."""
    if cell.value is None:
        return {"step": column, "why": cell.why}
    beside = {"n": cell.n, "failed": cell.failed, "interval": cell.interval, "of": cell.of}
    more = {name: value for name in ("unjudged", "kind", "why") if (value := getattr(cell, name))}
    return {"step": column, **encode_figure(cell.value, cell.basis), **beside, **more}


def read_systems(
    table: FigureTable,
    column: str,
    *,
    dataset: str,
    measure: str,
    symbol: str,
    bottom: float = 0,
    top: float = 1,
) -> Iterator[SystemFigure]:
    """Yield one figure per line of a table, from one column; lines with an empty cell are skipped.

    The line's label is the system's name. The front page lists these figures of all pages in one table.
    """
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
