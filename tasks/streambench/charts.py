"""The page's charts: accuracy, regret and memory over time, and Figures 2 and 4 on a scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tasks.reports.charts import Axis, Plot, Point, Scale, Series, draw_lines, thin_out
from tasks.reports.metrics import SeriesPoint
from tasks.reports.tables import FigureTable
from tasks.scoring.statistics import Interval
from tasks.streambench.score.curves import CurvePoint
from tasks.streambench.scored_steps import StreamRuns, StreamSystem
from tasks.streambench.tables_curves import slice_points

SCALE = "share right, from 0 to 100"


@dataclass(frozen=True)
class Traced:
    """What a chart over time shows of a point. note: in its title; end: how its last value is written."""

    note: str
    read: Callable[[CurvePoint], float]
    end: str
    axis: Axis
    has_band: bool = False


ACCURACY = Traced("", lambda point: point.accuracy, "{:.1%}", Axis(bottom=0, top=1, form="share"), True)
REGRET = Traced(": regret", lambda point: point.regret, "{:,.2f}", Axis())
MEMORY = Traced(": memory", lambda point: point.memory_size, "{:,.2f}", Axis())


def draw_over_time(runs: StreamRuns, curves: Iterable[CurvePoint], traced: Sequence[Traced]) -> list[Plot]:
    """Draw each figure over time, a chart for each model."""
    points = sorted(curves, key=lambda point: point.position)
    return [
        draw_lines(
            f"{model}{shown.note}",
            list(_trace(runs, points, model, shown).values()),
            Axis("step"),
            shown.axis,
        )
        for shown in traced
        for model in runs.models
    ]


def _trace(
    runs: StreamRuns, points: Sequence[CurvePoint], model: str, shown: Traced
) -> dict[StreamSystem, Series]:
    """Trace each system of a model without ablations; a method has one colour in all charts."""
    labels = [choice.label for choice in runs.choices]
    found = {}
    for system, row in zip(runs.systems, slice_points(runs), strict=True):
        curve = row.choose(points) if model in system.agents and not system.ablated else ()
        if curve:
            name = f"{system.title} ({system.models})" if system.shared else system.title
            traced = [
                Point(point.position, shown.read(point), _find_band(point) if shown.has_band else None)
                for point in curve
            ]
            place = labels.index(system.choice.label)
            found[system] = Series(name, traced, place, shown.end.format(traced[-1].y))
    return found


def _find_band(point: CurvePoint) -> Interval | None:
    """One standard error over seeds to either side; None for one seed."""
    return None if point.error is None else (point.accuracy - point.error, point.accuracy + point.error)


def list_points(runs: StreamRuns, curves: Iterable[CurvePoint], model: str) -> list[SeriesPoint]:
    """List the points of a model's chart of accuracy, as it is drawn."""
    points = sorted(curves, key=lambda point: point.position)
    return [
        SeriesPoint(int(point.x), point.y, point.interval, system.title)
        for system, line in _trace(runs, points, model, ACCURACY).items()
        for point in thin_out(line.points)
    ]


def draw_uses(table: FigureTable) -> list[Scale]:
    """Draw Figure 2 of its table; empty where no ablation was run."""
    if all(cell.value is None for line in table.lines for cell in line.cells[1:-1]):
        return []
    return [
        Scale(
            " · ".join(line.label),
            [
                (name, cell)
                for name, cell in zip(table.columns, line.cells, strict=True)
                if cell.value is not None
            ],
            note=SCALE,
            form="share",
        )
        for line in table.lines
    ]


def draw_seeds(table: FigureTable, models: Sequence[str]) -> list[Scale]:
    """Draw Figure 4 of its table: mean and standard error, for each model; empty where all have one seed.

    A method that shares a memory is in the chart of each of its models.
    """
    if all(line.cells[1].value is None for line in table.lines):
        return []
    charts = []
    for model in models:
        lines = []
        for line in table.lines:
            mean, error = line.cells[0], line.cells[1].value
            if mean.value is not None and model in line.label[0].split(" + "):
                reach = (
                    None if error is None else (max(mean.value - error, 0.0), min(mean.value + error, 1.0))
                )
                seeds = "one seed" if error is None else f"{len(line.cells) - 2} seeds, ± {100 * error:.1f}"
                lines.append((f"{line.label[1]}, {seeds}", replace(mean, interval=reach)))
        charts.append(Scale(model, lines, note=f"{SCALE}, with one standard error", form="share"))
    return charts
