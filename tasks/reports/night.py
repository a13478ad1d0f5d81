"""Write the page of nightly runs: each assessment's mean per night, and what dropped in the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.files import write_text
from tasks.judging.nights import Night
from tasks.reports.frame import render_alone

WIDTH, HEIGHT = 960, 190
"""Size of an assessment's plot, in SVG units."""
LEFT, RIGHT, TOP, BOTTOM = 40, 60, 12, 34
REACHES = (0.1, 0.25, 0.5, 1)
"""Possible ends of a difference's axis: the first that includes every interval is used."""
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
class AssessmentNights:
    """One assessment's nights. nights: newest first. reach: end of the differences' axis."""

    name: str
    nights: Sequence[Night]
    last: Night
    dots: Sequence[NightDot]
    reach: float


@dataclass(frozen=True)
class NightsPage:
    """The content of the page."""

    assessments: Sequence[AssessmentNights]
    plot: PlotFrame


def write_nights(out: Path, nights: Sequence[Night]) -> None:
    """Write the page to the file `out`. nights: oldest first."""
    names = sorted({night.assessment for night in nights})
    assessments = [
        _collect_nights(name, [night for night in nights if night.assessment == name]) for name in names
    ]
    write_text(out, render_alone("night.html", NightsPage(assessments, _frame_plot())))


def _collect_nights(name: str, nights: Sequence[Night]) -> AssessmentNights:
    bounds = [abs(bound or 0) for night in nights for bound in (night.change.low, night.change.high)]
    reach = next(reach for reach in REACHES if reach >= max(bounds) or reach == REACHES[-1])
    return AssessmentNights(name, nights[::-1], nights[-1], place_dots(nights), reach)


def place_dots(nights: Sequence[Night]) -> list[NightDot]:
    """Make a dot for each night that has a mean, left to right; mean 0 is at the bottom, 1 at the top."""
    step = (WIDTH - LEFT - RIGHT) / max(len(nights) - 1, 1)
    apart = -(-len(nights) // LABELS)
    return [
        NightDot(
            x=round(LEFT + number * step, 2),
            y=_rise(night.change.mean),
            title=f"{night.label}: {night.change.mean:.3f}",
            label="" if (len(nights) - 1 - number) % apart else night.label,
            alarm=bool(night.change.alarms),
        )
        for number, night in enumerate(nights)
        if night.change.mean is not None
    ]


def _rise(mean: float) -> float:
    return round(HEIGHT - BOTTOM - mean * (HEIGHT - BOTTOM - TOP), 2)


def _frame_plot() -> PlotFrame:
    ticks = [(_rise(mean), f"{mean:g}") for mean in (0, 0.5, 1)]
    return PlotFrame(WIDTH, HEIGHT, LEFT, WIDTH - RIGHT / 2, ticks)
