"""Compute the geometry of figure 9's plots in SVG units; the templates draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.ragcheck.figures import Estimate

WIDTH, HEIGHT = 460.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 12.0, 12.0, 44.0
TICKS = 5
APART = 9.0
"""Distance between the points of systems over one dataset, so that intervals do not overlap."""
LONGEST_LABEL = 14


@dataclass(frozen=True)
class PlotPoint:
    """A value with its interval, in SVG units; low and high are None without an interval."""

    x: float
    y: float
    low: float | None
    high: float | None
    title: str


@dataclass(frozen=True)
class PlotLine:
    """A system's points over the datasets. place: its index, which decides colour and stroke."""

    system: str
    place: int
    path: str
    points: tuple[PlotPoint, ...]


@dataclass(frozen=True)
class Plot:
    """Figure 9 for one measure."""

    measure: str
    width: float
    height: float
    left: float
    right: float
    ticks: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str, str], ...]
    """Datasets: x, a short name, the whole name."""
    lines: tuple[PlotLine, ...]


def plot_datasets(
    measure: str,
    top: float,
    datasets: Sequence[str],
    systems: Sequence[str],
    values: Mapping[tuple[str, str], Estimate],
) -> Plot:
    """Lay out one measure's means over datasets, one line per system.

    top: the top of the measure's scale. values: (dataset, system) -> mean with interval.
    """
    step = (WIDTH - LEFT - RIGHT) / max(1, len(datasets))
    centres = {name: LEFT + step * (number + 0.5) for number, name in enumerate(datasets)}

    def to_y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top, 2)

    lines = []
    for number, system in enumerate(systems):
        shift = APART * (number - (len(systems) - 1) / 2)
        points = []
        for name in datasets:
            estimate = values.get((name, system))
            if estimate is None or estimate.value is None:
                continue
            low, high = estimate.low, estimate.high
            points.append(
                PlotPoint(
                    round(centres[name] + shift, 2),
                    to_y(estimate.value),
                    None if low is None else to_y(low),
                    None if high is None else to_y(high),
                    f"{system}, {name}: {estimate.value:.3f}",
                )
            )
        path = " ".join(
            f"{'L' if index else 'M'}{point.x:g} {point.y:g}" for index, point in enumerate(points)
        )
        lines.append(PlotLine(system, number, path, tuple(points)))
    ticks = tuple((to_y(top * tick / TICKS), f"{top * tick / TICKS:g}") for tick in range(TICKS + 1))
    labels = tuple((round(x, 2), _shorten(name), name) for name, x in centres.items())
    return Plot(measure, WIDTH, HEIGHT, LEFT, WIDTH - RIGHT, ticks, labels, tuple(lines))


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
