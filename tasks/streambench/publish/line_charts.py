"""Compute the geometry of lines over a stream in SVG units; the templates draw them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from tasks.streambench.publish.curve_tables import Curves, find_curve
from tasks.streambench.publish.curves import CurvePoint
from tasks.streambench.publish.stream_runs import StreamSystem

WIDTH, HEIGHT = 460.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 12.0, 34.0
MOST_POINTS = 240
"""Of one line: more cannot be seen, and would make the page long."""
WANTED_TICKS = 4
COLOURS = 8
"""Of the style; lines beyond are dashed in the same colours."""


@dataclass(frozen=True)
class CurveLine:
    """A system's line. place: its colour, from 0; path, band: SVG paths, band empty for one seed."""

    name: str
    place: int
    dashed: bool
    path: str
    band: str
    end: float


@dataclass(frozen=True)
class CurveChart:
    """A chart of lines over steps. x_ticks, y_ticks: place and label. form: of values, as tables have it."""

    title: str
    form: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    lines: tuple[CurveLine, ...]


@dataclass(frozen=True)
class Measured:
    """What a chart shows of a point: its value and how far its band reaches; top: None is the largest."""

    title: str
    form: str
    read: Callable[[CurvePoint], float]
    reach: Callable[[CurvePoint], float]
    top: float | None


ACCURACY = Measured(
    "share of right steps so far",
    "share",
    lambda point: point.accuracy,
    lambda point: point.error or 0.0,
    1.0,
)
REGRET = Measured(
    "regret: right steps behind the best", "mean", lambda point: point.regret, lambda point: 0.0, None
)
MEMORY = Measured("entries in the memory", "mean", lambda point: point.memory_size, lambda point: 0.0, None)


def draw_chart(
    title: str, measured: Measured, systems: Sequence[StreamSystem], curves: Curves, places: Sequence[str]
) -> CurveChart:
    """Draw a line for each system that has a curve. places: labels of methods, whose order gives colours."""
    drawn = [(system, curve) for system in systems if (curve := find_curve(curves, system))]
    values = [measured.read(point) for _, curve in drawn for point in curve]
    length = max((curve[-1].position for _, curve in drawn), default=1)
    top = measured.top if measured.top is not None else max([*values, 1.0])
    bottom = min([*values, 0.0])

    def place_x(position: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (position - 1) / max(length - 1, 1)

    def place_y(value: float) -> float:
        inside = min(max(value, bottom), top)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (inside - bottom) / (top - bottom)

    return CurveChart(
        title,
        measured.form,
        WIDTH,
        HEIGHT,
        LEFT,
        WIDTH - RIGHT,
        TOP,
        HEIGHT - BOTTOM,
        tuple((place_x(tick), f"{tick:,.0f}") for tick in [1, *(t for t in list_ticks(1, length) if t > 1)]),
        tuple((place_y(tick), show_tick(tick, measured.form)) for tick in list_ticks(bottom, top)),
        tuple(
            draw_line(system, curve, measured, places.index(system.choice.label), place_x, place_y)
            for system, curve in drawn
        ),
    )


def draw_line(
    system: StreamSystem,
    curve: Sequence[CurvePoint],
    measured: Measured,
    place: int,
    place_x: Callable[[float], float],
    place_y: Callable[[float], float],
) -> CurveLine:
    """Draw a system's line, with a band of one standard error where it has several seeds."""
    points = thin_out(curve)
    middle = [(place_x(point.position), place_y(measured.read(point))) for point in points]
    reaches = [measured.reach(point) for point in points]
    band = ""
    if any(reaches):
        upper, lower = (
            [
                (x, place_y(measured.read(point) + side * reach))
                for (x, _), point, reach in zip(middle, points, reaches, strict=True)
            ]
            for side in (1, -1)
        )
        band = f"M{join_points([*upper, *reversed(lower)])}Z"
    return CurveLine(
        f"{system.title}{f' ({system.models})' if system.shared else ''}",
        place % COLOURS,
        place >= COLOURS,
        f"M{join_points(middle)}",
        band,
        measured.read(curve[-1]),
    )


def thin_out(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Keep at most MOST_POINTS points of a curve, evenly, the first and the last among them."""
    if len(curve) <= MOST_POINTS:
        return list(curve)
    apart = (len(curve) - 1) / (MOST_POINTS - 1)
    return [curve[round(apart * number)] for number in range(MOST_POINTS)]


def list_ticks(bottom: float, top: float) -> list[float]:
    """List round numbers from bottom to top, about WANTED_TICKS steps apart."""
    rough = (top - bottom) / WANTED_TICKS or 1.0
    size = 10.0 ** floor(log10(rough))
    step = next((size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough), rough)
    first = ceil(bottom / step - 1e-9)
    last = floor(top / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def show_tick(value: float, form: str) -> str:
    """Write a tick's label: a share x100."""
    return f"{100 * value:.0f}%" if form == "share" else f"{value:,g}"


def join_points(points: Sequence[tuple[float, float]]) -> str:
    """Join points to a path, rounded to a tenth."""
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
