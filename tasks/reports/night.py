"""The page of all nights: each assessment's mean night by night, and what fell in the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.files import write_text
from tasks.judging.nights import Night
from tasks.reports.frame import render_alone

WIDTH, HEIGHT = 960, 190
"""Of an assessment's plot, in SVG units."""
LEFT, RIGHT, TOP, BOTTOM = 40, 60, 12, 34
REACHES = (0.1, 0.25, 0.5, 1)
"""Where the line of a difference may end: at the first that holds every interval."""
LABELS = 8
"""Nights named below the plot, the last one always."""


@dataclass(frozen=True)
class NightDot:
    """A night's mean on the plot, in SVG units."""

    x: float
    y: float
    title: str
    label: str
    """What stands below it, if anything."""
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
    """One assessment's nights. nights: newest first; reach: where the line of a difference ends."""

    name: str
    nights: Sequence[Night]
    last: Night
    dots: Sequence[NightDot]
    reach: float


@dataclass(frozen=True)
class NightsPage:
    """What the page shows."""

    assessments: Sequence[AssessmentNights]
    plot: PlotFrame


def write_nights(out: Path, nights: Sequence[Night]) -> None:
    """Write the page over nights, oldest first, as their history holds them."""
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
    """Place each night that has a mean, from left to right; a mean of 0 is the lower edge, 1 the upper."""
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
