"""The page's charts over time, and Figures 2 and 4 as marks on a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.reports.metrics import SeriesPoint
from tasks.streambench.publish.curve_tables import Curves, find_curve
from tasks.streambench.publish.figure_file import StreamFigures
from tasks.streambench.publish.line_charts import ACCURACY, MEMORY, REGRET, CurveChart, draw_chart, thin_out
from tasks.streambench.publish.stream_cells import StreamCell
from tasks.streambench.publish.stream_runs import StreamRuns


@dataclass(frozen=True)
class PanelMark:
    """A value on a scale from 0 to 1; cell.interval is drawn as its whisker. note: what is read beside it."""

    label: str
    cell: StreamCell
    note: str


@dataclass(frozen=True)
class SharePanel:
    """A figure of the paper's as marks on a scale."""

    title: str
    marks: Sequence[PanelMark]


def draw_accuracies(runs: StreamRuns, curves: Curves, methods: Sequence[str]) -> list[CurveChart]:
    """Draw the share of right steps over time, a chart for each model."""
    return [draw_chart(model, ACCURACY, runs.select(model=model), curves, methods) for model in runs.models]


def list_points(runs: StreamRuns, curves: Curves, model: str) -> list[SeriesPoint]:
    """List the points of a model's chart of accuracy, as it is drawn."""
    return [
        SeriesPoint(
            point.position,
            point.accuracy,
            None if point.error is None else (point.accuracy - point.error, point.accuracy + point.error),
            system.title,
        )
        for system in runs.select(model=model)
        for point in thin_out(find_curve(curves, system))
    ]


def draw_further(runs: StreamRuns, curves: Curves, methods: Sequence[str]) -> list[CurveChart]:
    """Draw regret and memory over time, each a chart for each model."""
    return [
        draw_chart(f"{model}: {name}", measured, runs.select(model=model), curves, methods)
        for name, measured in (("regret", REGRET), ("memory", MEMORY))
        for model in runs.models
    ]


def draw_uses(figures: StreamFigures) -> list[SharePanel]:
    """Draw Figure 2; empty where no ablation was run."""
    table = figures.tables["uses"]
    ablated = any(cell.value is not None for line in table.lines for cell in line.cells[1:-1])
    return [
        SharePanel(
            " · ".join(line.label),
            [
                PanelMark(column, cell, "")
                for column, cell in zip(table.columns, line.cells, strict=True)
                if cell.value is not None
            ],
        )
        for line in (table.lines if ablated else ())
    ]


def draw_seeds(figures: StreamFigures) -> list[SharePanel]:
    """Draw Figure 4: mean and standard error, a panel for each model; empty where all have one seed.

    A method that shares a memory is in the panel of each of its models.
    """
    table = figures.tables["seeds"]
    if all(line.cells[1].value is None for line in table.lines):
        return []
    panels: dict[str, list[PanelMark]] = {model: [] for model in figures.models}
    for line in table.lines:
        mean, error = line.cells[0], line.cells[1].value
        if mean.value is None:
            continue
        reach = None if error is None else (max(mean.value - error, 0.0), min(mean.value + error, 1.0))
        note = "one seed" if error is None else f"± {100 * error:.1f}, {len(line.cells) - 2} seeds"
        cell = StreamCell(mean.value, mean.n, mean.failed, mean.unjudged, reach, mean.of)
        for model in line.label[0].split(" + "):
            panels[model].append(PanelMark(line.label[1], cell, note))
    return [SharePanel(model, marks) for model, marks in panels.items()]
