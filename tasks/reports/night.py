"""Write the page of nightly runs: each metric's mean per night, and what became of it in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.files import write_text
from tasks.judging.nights import Night, NightSeries
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home

WIDTH, HEIGHT = 960, 190
"""Size of a metric's plot, in SVG units."""
LEFT, RIGHT, TOP, BOTTOM = 40, 60, 12, 34
REACHES = (0.1, 0.25, 0.5, 1, 5)
"""Possible ends of a difference's axis: the first that includes every interval is used."""
TOPS = (1, 5)
"""Possible ends of a mean's axis."""
FEW = 4
"""Up to so many metrics, the plot of each is shown at once."""
STYLES = ("report.css", "night.css")
LABELS = 8
"""Maximum number of nights labelled below the plot; the last one always is."""


@dataclass(frozen=True)
class NightDot:
    """A night's mean on the plot, in SVG units."""

    x: float
    y: float
    title: str
    label: str
    """The label below the dot; may be empty."""
    alarm: bool


@dataclass(frozen=True)
class PlotFrame:
    """The plot's size, margins and ticks (y, label), in SVG units."""

    width: float
    height: float
    left: float
    right: float
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class NightRow:
    """A metric in a night."""

    night: Night
    series: NightSeries

    @property
    def alarm(self) -> bool:
        """Whether the metric is among the night's alarms."""
        return self.series.outcome in ("fell", "judge drift", "unscored")


@dataclass(frozen=True)
class SeriesNights:
    """One metric's nights. rows: newest first. reach: end of the differences' axis. anchor: its place's id.

    is_open: whether it is shown at once, where there are many.
    """

    name: str
    anchor: str
    is_open: bool
    rows: Sequence[NightRow]
    dots: Sequence[NightDot]
    plot: PlotFrame
    reach: float


@dataclass(frozen=True)
class NightsPage:
    """The content of the page. nights: newest first. reach: end of the last night's axis of differences."""

    nights: Sequence[Night]
    series: Sequence[SeriesNights]
    reach: float


def write_nights(out: Path, nights: Sequence[Night]) -> None:
    """Write the page to the file `out`. nights: oldest first."""
    names = sorted({series.name for night in nights for series in night.series})
    series = [
        _collect(name, nights, f"metric-{number}", few=len(names) <= FEW) for number, name in enumerate(names)
    ]
    reach = find_reach(nights[-1].series if nights else ())
    content = NightsPage(nights[::-1], series, reach)
    write_text(out, render_alone("night.html", content, home=link_home(out), styles=STYLES))


def find_reach(series: Iterable[NightSeries]) -> float:
    """Find where the axis of differences ends, so that it includes every interval."""
    bounds = [abs(bound or 0) for own in series for bound in (own.low, own.high)]
    return next(reach for reach in REACHES if reach >= max(bounds, default=0) or reach == REACHES[-1])


def _collect(name: str, nights: Sequence[Night], anchor: str, *, few: bool) -> SeriesNights:
    rows = [NightRow(night, own) for night in nights for own in night.series if own.name == name]
    reach = find_reach(row.series for row in rows)
    highest = max(row.series.mean or 0 for row in rows)
    top = next(top for top in TOPS if top >= highest or top == TOPS[-1])
    is_open = few or (rows[-1].night is nights[-1] and rows[-1].alarm)
    return SeriesNights(name, anchor, is_open, rows[::-1], place_dots(rows, top), _frame_plot(top), reach)


def place_dots(rows: Sequence[NightRow], top: float = 1) -> list[NightDot]:
    """Make a dot for each night that has a mean, left to right; mean 0 is at the bottom, `top` at the top."""
    step = (WIDTH - LEFT - RIGHT) / max(len(rows) - 1, 1)
    apart = -(-len(rows) // LABELS)
    return [
        NightDot(
            x=round(LEFT + number * step, 2),
            y=_rise(row.series.mean / top),
            title=f"{row.night.label}: {row.series.mean:.3f}",
            label="" if (len(rows) - 1 - number) % apart else row.night.label,
            alarm=row.alarm,
        )
        for number, row in enumerate(rows)
        if row.series.mean is not None
    ]


def _rise(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 2)


def _frame_plot(top: float) -> PlotFrame:
    ticks = [(_rise(share), f"{share * top:g}") for share in (0, 0.5, 1)]
    return PlotFrame(WIDTH, HEIGHT, LEFT, WIDTH - RIGHT / 2, ticks)
