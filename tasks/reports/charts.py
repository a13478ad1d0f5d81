"""Define the charts of all pages: plots, values on a scale, and bars. pages/charts.html renders the charts.

Altair would need the converter vl-convert, a package of 84 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10

from tasks.lineage.derivation import Derivation
from tasks.reports.tables import Cell
from tasks.scoring.statistics import Interval

MOST_POINTS = 240
"""Maximum number of points per line. More points would not be visible, and would enlarge the page."""
WANTED_TICKS = 4
"""Approximate number of intervals between the ticks of an axis."""
COLOURS = 8
"""Number of colours in the style sheet; further series reuse the colours with dashed lines."""
APART = 9.0
"""Horizontal distance between series in the same category, in SVG units, so that whiskers do not overlap."""
LONGEST_LABEL = 14
"""Maximum number of characters of a category's label; longer labels are truncated."""
REACHES = (0.1, 0.25, 0.5, 1, 5)
"""Possible upper bounds of the axis in charts of differences."""
SIZE = (460.0, 240.0)
"""Width and height of a plot in SVG units."""


@dataclass(frozen=True)
class Point:
    """A value of a series.

    x: a number, or the index of a category. interval: drawn as a band or a whisker.
    """

    x: float
    y: float
    interval: Interval | None = None
    title: str = ""


@dataclass(frozen=True)
class Series:
    """A series of points with the same colour.

    `place`: index of the series' colour. `end`: a value for the legend, or empty. `line`: whether a line
    joins the points. Only series with a line are shifted sideways within a category.
    """

    name: str
    points: Sequence[Point]
    place: int = 0
    end: str = ""
    line: bool = True


@dataclass(frozen=True)
class Axis:
    """A chart's axis.

    `bottom`, `top`: bounds of the axis; None derives them from the values. `form`: `share` labels ticks in
    percent.
    """

    label: str = ""
    bottom: float | None = None
    top: float | None = None
    form: str = ""
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class PlacedPoint:
    """A point in SVG units; low and high are None if the point has no interval."""

    x: float
    y: float
    low: float | None
    high: float | None
    title: str


@dataclass(frozen=True)
class PlacedSeries:
    """A series in SVG units.

    path: SVG path of the line; empty if only points are drawn. band: SVG path of the area of the intervals.
    """

    name: str
    colour: int
    dashed: bool
    path: str
    band: str
    points: Sequence[PlacedPoint]
    end: str


@dataclass(frozen=True)
class Plot:
    """A line plot or point plot, in SVG units.

    `marks`: whether to draw points with intervals as whiskers. `x_ticks`: tuples (position, label, full
    name); a category's label may be truncated. `y_ticks`: pairs (position, label).
    """

    title: str
    note: str
    marks: bool
    x_label: str
    x_ticks: Sequence[tuple[float, str, str]]
    y_ticks: Sequence[tuple[float, str]]
    series: Sequence[PlacedSeries]
    width: float = SIZE[0]
    height: float = SIZE[1]
    left: float = 44.0
    right: float = 12.0
    top: float = 12.0
    bottom: float = 40.0

    kind = "plot"


@dataclass(frozen=True)
class Scale:
    """Values with intervals on a common scale, one row per value. lines: pairs (label, cell)."""

    title: str
    lines: Sequence[tuple[str, Cell]]
    bottom: float = 0
    top: float = 1
    note: str = ""
    form: str = ""

    kind = "scale"


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart: one count per column (`Bars.steps`), and optionally the counts' derivations."""

    label: str
    counts: Sequence[int]
    derivations: Sequence[Derivation] = ()


@dataclass(frozen=True)
class Bars:
    """A table of horizontal bars with a common scale. `steps`: the column names.

    `tones`: column name -> colour class, `warn` or `s1`. `record`: JSON pointer to the bars in the page's
    record; empty if the record does not contain the bars.
    """

    title: str
    steps: Sequence[str]
    bars: Sequence[Bar]
    note: str = ""
    tones: Mapping[str, str] = field(default_factory=dict)
    record: str = ""

    kind = "bars"

    @property
    def most(self) -> int:
        """The largest count of any bar, at least 1."""
        return max((count for bar in self.bars for count in bar.counts), default=0) or 1


Chart = Plot | Scale | Bars


def draw_lines(
    title: str,
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    *,
    note: str = "",
    marks: bool = False,
    size: tuple[float, float] = SIZE,
) -> Plot:
    """Return a plot of series over a numeric axis, or over categories if `x` has categories.

    `size`: width and height in SVG units. Intervals are whiskers if `marks` is true, otherwise a band around
    the line. Series without points are omitted.
    """
    drawn = [line for line in series if line.points]
    frame = Plot(title, note, marks, x.label, (), (), (), *size)
    left, right, top, bottom = frame.left, frame.width - frame.right, frame.top, frame.height - frame.bottom
    values = [point.y for line in drawn for point in line.points]
    y_low = y.bottom if y.bottom is not None else min([*values, 0.0])
    y_high = y.top if y.top is not None else max([*values, 1.0])
    places = [point.x for line in drawn for point in line.points]
    x_low, x_high = _find_ends(x, places)

    def place_x(value: float) -> float:
        return left + (right - left) * (value - x_low) / ((x_high - x_low) or 1)

    def place_y(value: float) -> float:
        inside = min(max(value, y_low), y_high)
        return bottom - (bottom - top) * (inside - y_low) / ((y_high - y_low) or 1)

    placed = []
    for number, line in enumerate(drawn):
        joined = sum(other.line for other in drawn)
        shift = APART * (number - (joined - 1) / 2) if x.categories and line.line else 0.0
        points = [
            PlacedPoint(
                place_x(point.x) + shift,
                place_y(point.y),
                place_y(point.interval[0]) if point.interval else None,
                place_y(point.interval[1]) if point.interval else None,
                point.title,
            )
            for point in thin_out(line.points)
        ]
        placed.append(
            PlacedSeries(
                line.name,
                line.place % COLOURS,
                line.place >= COLOURS,
                f"M{_join((point.x, point.y) for point in points)}" if line.line else "",
                "" if marks else _draw_band(points),
                points if marks else (),
                line.end,
            )
        )
    return replace(
        frame,
        x_ticks=_list_x_ticks(x, x_low, x_high, place_x),
        y_ticks=tuple((place_y(tick), show_tick(tick, y.form)) for tick in list_ticks(y_low, y_high)),
        series=placed,
    )


def draw_scatter(title: str, points: Sequence[Point], x: Axis, y: Axis, *, note: str = "") -> Plot:
    """Return a scatter plot; overlapping points appear darker."""
    return draw_lines(title, [Series("", points, line=False)], x, y, note=note, marks=True)


def thin_out(points: Sequence[Point]) -> list[Point]:
    """Return at most MOST_POINTS points, evenly spaced, including the first and the last."""
    if len(points) <= MOST_POINTS:
        return list(points)
    apart = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(apart * number)] for number in range(MOST_POINTS)]


def list_ticks(bottom: float, top: float) -> list[float]:
    """Return evenly spaced round numbers between bottom and top, with at most WANTED_TICKS intervals."""
    rough = (top - bottom) / WANTED_TICKS or 1.0
    size = 10.0 ** floor(log10(rough))
    step = next((size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough), rough)
    # The tolerance keeps the ticks at the bounds despite rounding errors.
    first = ceil(bottom / step - 1e-9)
    last = floor(top / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def show_tick(value: float, form: str) -> str:
    """Format a tick label: shares in percent, other numbers with thousands separators."""
    return f"{100 * value:.0f}%" if form == "share" else f"{value:,g}"


def find_reach(bounds: Iterable[float | None]) -> float:
    """Return the upper bound of an axis that is symmetric about zero.

    The result is the first of REACHES that covers all bounds, or the last of REACHES if none does.
    """
    most = max((abs(bound) for bound in bounds if bound is not None), default=0.0)
    return next(reach for reach in REACHES if reach >= most or reach == REACHES[-1])


def _find_ends(x: Axis, places: Sequence[float]) -> tuple[float, float]:
    if x.categories:
        return -0.5, len(x.categories) - 0.5
    low = x.bottom if x.bottom is not None else min(places, default=0.0)
    return low, x.top if x.top is not None else max(places, default=1.0)


def _list_x_ticks(
    x: Axis, low: float, high: float, place_x: Callable[[float], float]
) -> tuple[tuple[float, str, str], ...]:
    if x.categories:
        return tuple(
            (place_x(float(number)), _shorten(name), name) for number, name in enumerate(x.categories)
        )
    ticks = [low, *(tick for tick in list_ticks(low, high) if tick > low)]
    return tuple((place_x(tick), label, label) for tick in ticks for label in [show_tick(tick, x.form)])


def _draw_band(points: Sequence[PlacedPoint]) -> str:
    with_interval = [point for point in points if point.low is not None and point.high is not None]
    if not with_interval:
        return ""
    upper = [(point.x, point.high or 0.0) for point in with_interval]
    lower = [(point.x, point.low or 0.0) for point in reversed(with_interval)]
    return f"M{_join([*upper, *lower])}Z"


def _join(points: Iterable[tuple[float, float]]) -> str:
    """Return points as SVG path data, with coordinates rounded to 0.1."""
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
