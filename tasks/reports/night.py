"""Write the page of nightly runs: the mean and the outcome of each metric per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.files import write_text
from tasks.judging.night_forecast import PartForecast
from tasks.judging.nights import Night, NightSeries
from tasks.reports.charts import Axis, Plot, Point, Series, draw_lines, find_reach
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home

SIZE = (960.0, 190.0)
"""Width and height of a metric's plot, in SVG units."""
TOPS = (1, 5)
"""Possible upper bounds of the axis for means."""
FEW = 4
"""Maximum number of metrics for which all plots are initially expanded."""
STYLES = ("report.css", "night.css")
LABELS = 8
"""Maximum number of runs with a label below the plot; the last run always has a label."""


@dataclass(frozen=True)
class NightRow:
    """The result of a metric in one nightly run."""

    night: Night
    series: NightSeries

    @property
    def forecast(self) -> PartForecast | None:
        """The estimate over all items if the run evaluated only some of the items; otherwise None."""
        forecasts = self.night.part.forecasts if self.night.part else ()
        return next((forecast for forecast in forecasts if forecast.name == self.series.name), None)

    @property
    def mean(self) -> float | None:
        """The mean over the evaluated items, or the forecast over all items if the run skipped some items."""
        return self.forecast.mean if self.forecast is not None else self.series.mean

    @property
    def alarm(self) -> bool:
        """Whether the metric caused an alarm in this run."""
        return self.series.outcome in ("fell", "judge drift", "unscored")


@dataclass(frozen=True)
class SeriesNights:
    """All nightly results of one metric. rows: newest first. reach: upper bound of the difference axis.

    `anchor`: the HTML id of the metric's section. `is_open`: whether the section is initially expanded.
    """

    name: str
    anchor: str
    is_open: bool
    rows: Sequence[NightRow]
    plot: Plot
    reach: float


@dataclass(frozen=True)
class NightsPage:
    """The content of the page of nightly runs.

    nights: newest first. reach: upper bound of the difference axis for the last run.
    """

    nights: Sequence[Night]
    series: Sequence[SeriesNights]
    reach: float


def write_nights(out: Path, nights: Sequence[Night]) -> None:
    """Write the page to the file `out`. nights: oldest first."""
    names = sorted({series.name for night in nights for series in night.series})
    series = [
        _collect(name, nights, f"metric-{number}", few=len(names) <= FEW) for number, name in enumerate(names)
    ]
    reach = _find_reach(nights[-1].series if nights else ())
    content = NightsPage(nights[::-1], series, reach)
    write_text(out, render_alone("night.html", content, home=link_home(out), styles=STYLES))


def _collect(name: str, nights: Sequence[Night], anchor: str, *, few: bool) -> SeriesNights:
    rows = [NightRow(night, series) for night in nights for series in night.series if series.name == name]
    reach = _find_reach(row.series for row in rows)
    highest = max(row.mean or 0 for row in rows)
    top = next(top for top in TOPS if top >= highest or top == TOPS[-1])
    is_open = few or (rows[-1].night is nights[-1] and rows[-1].alarm)
    return SeriesNights(name, anchor, is_open, rows[::-1], plot_nights(rows, top), reach)


def plot_nights(rows: Sequence[NightRow], top: float = 1) -> Plot:
    """Return a plot of nightly means, oldest first, on an axis from 0 to `top`; alarms have a second mark."""
    apart = -(-len(rows) // LABELS)
    labels = ["" if (len(rows) - 1 - place) % apart else row.night.label for place, row in enumerate(rows)]
    points = [
        (row.alarm, Point(place, row.mean, title=f"{row.night.label}: {row.mean:.3f}"))
        for place, row in enumerate(rows)
        if row.mean is not None
    ]
    return draw_lines(
        "Mean of each night",
        [
            Series("mean", [point for _, point in points]),
            Series("alarm", [point for alarm, point in points if alarm], 3, line=False),
        ],
        Axis(categories=labels),
        Axis(bottom=0, top=top),
        note="over the items that the night scored; the table has the same figures",
        marks=True,
        size=SIZE,
    )


def _find_reach(series: Iterable[NightSeries]) -> float:
    return find_reach(bound for metric in series for bound in (metric.low, metric.high))
