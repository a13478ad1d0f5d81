"""Write a report's main figures as files for DVC: metrics (one JSON file per figure) and plots (CSV).

All JSON files have the same few keys. The tables of `dvc metrics show` and `dvc metrics diff` therefore have
one line per figure and few columns, regardless of the number of systems in a report.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.export import draft_folder
from tasks.files import write_text
from tasks.reports.page import Page
from tasks.reports.tables import Cell, FigureTable, round_figures

Own = TypeVar("Own")
BAR_COLUMNS = ("name", "value", "low", "high", "n")
POINT_COLUMNS = ("step", "value", "low", "high", "series")


@dataclass(frozen=True)
class DvcMetric:
    """One figure. interval: 95% interval. n: number of items. failed: number of items without a value."""

    name: str
    value: int | float
    interval: Sequence[float] | None = None
    n: int | None = None
    failed: int | None = None


@dataclass(frozen=True)
class MetricGroup:
    """Figures of one kind, such as the accuracy of all methods, for a metrics folder and a bar plot."""

    name: str
    metrics: tuple[DvcMetric, ...]


@dataclass(frozen=True)
class SeriesPoint:
    """A point in a line chart, such as a method's accuracy after a step of a stream."""

    step: int
    value: float
    interval: Sequence[float] | None
    series: str


def choose_column(
    name: str,
    table: FigureTable,
    column: str,
    *,
    labels: Sequence[int] | None = None,
    where: Mapping[int, str] | None = None,
) -> MetricGroup:
    """Return the metrics in a column of a report's table; empty cells are omitted.

    `labels`: indexes of the label parts that form a metric's name; None uses all parts. `where`: index of a
    label part -> required text, to select lines. Raises ValueError if the table lacks the column.
    """
    if column not in table.columns:
        raise ValueError(f"no such column: {column}")
    place = list(table.columns).index(column)
    wanted = (where or {}).items()
    lines = [
        (line.label, line.cells[place])
        for line in table.lines
        if all(line.label[part] == text for part, text in wanted)
    ]
    return MetricGroup(
        name,
        tuple(
            make_metric(name_line(label, labels), cell.value, cell)
            for label, cell in lines
            if cell.value is not None
        ),
    )


def name_line(label: Sequence[str], labels: Sequence[int] | None) -> str:
    """Join the parts of a line's label at the indexes `labels`, or all parts if `labels` is None."""
    return " · ".join(filter(None, label if labels is None else [label[place] for place in labels]))


def make_metric(name: str, value: int | float, cell: Cell) -> DvcMetric:
    """Return the metric for a cell with a value."""
    return DvcMetric(name, value, cell.interval, cell.n, cell.failed)


def write_metrics(folder: Path, page: Page, groups: Iterable[MetricGroup]) -> None:
    """Write a page's headline figures, and the figures of each group, as JSON files below a folder.

    A headline's file is named after its symbol (`R` becomes `r.json`), or after its label up to the first
    comma.
    """
    headlines = [
        DvcMetric(headline.symbol or headline.label.partition(",")[0], headline.value, headline.interval)
        for headline in page.headlines
        if isinstance(headline.value, int | float)
    ]
    with draft_folder(folder) as draft:
        for name, metric in name_files((metric.name, metric) for metric in headlines).items():
            _write_metric(draft / f"{name}.json", metric)
        for group_name, group in name_files((group.name, group) for group in groups if group.metrics).items():
            (draft / group_name).mkdir()
            for name, metric in name_files((metric.name, metric) for metric in group.metrics).items():
                _write_metric(draft / group_name / f"{name}.json", metric)


def write_bars(folder: Path, groups: Iterable[MetricGroup]) -> None:
    """Write each group as a CSV file below a folder: one line per figure, with the columns `BAR_COLUMNS`."""
    with draft_folder(folder) as draft:
        for name, group in name_files((group.name, group) for group in groups if group.metrics).items():
            lines = [(one.name, one.value, *_bounds(one.interval), one.n) for one in group.metrics]
            _write_csv(draft / f"{name}.csv", BAR_COLUMNS, lines)


def write_lines(folder: Path, charts: Mapping[str, Sequence[SeriesPoint]]) -> None:
    """Write each chart as a CSV file below a folder: one line per point, with the columns `POINT_COLUMNS`."""
    with draft_folder(folder) as draft:
        for name, points in name_files((name, points) for name, points in charts.items() if points).items():
            lines = [(one.step, one.value, *_bounds(one.interval), one.series) for one in points]
            _write_csv(draft / f"{name}.csv", POINT_COLUMNS, lines)


def name_files(named: Iterable[tuple[str, Own]]) -> dict[str, Own]:
    """Map file names to objects, given pairs (name, object); duplicate file names get a number."""
    found: dict[str, Own] = {}
    for text, own in named:
        stem = re.sub(r"[^\w]+", "-", text.lower().replace("'", "")).strip("-_") or "figure"
        numbers = (f"{stem}-{number}" for number in range(2, len(found) + 3))
        found[stem if stem not in found else next(name for name in numbers if name not in found)] = own
    return found


def _write_metric(path: Path, metric: DvcMetric) -> None:
    low, high = _bounds(metric.interval)
    keys = {"value": metric.value, "low": low, "high": high, "n": metric.n, "failed": metric.failed or None}
    known = {key: value for key, value in keys.items() if value is not None}
    write_text(path, json.dumps(round_figures(known), indent=1, allow_nan=False) + "\n")


def _write_csv(path: Path, columns: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([round_figures(value) for value in line] for line in lines)
    write_text(path, text.getvalue())


def _bounds(interval: Sequence[float] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval[0], interval[1])
