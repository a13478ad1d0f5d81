"""The page of all nights: each assessment's mean night by night, and what fell in the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.files import write_text
from tasks.reports.frame import render_alone

WIDTH, HEIGHT = 960, 190
"""Of an assessment's line, in SVG units."""
LEFT, RIGHT, TOP, BOTTOM = 40, 60, 12, 34
REACHES = (0.1, 0.25, 0.5, 1)
"""Where the line of a difference may end: at the first that holds every interval."""
LABELS = 8
"""Nights named below the line, the last one always."""


def write_page(out: Path, nights: Sequence[Mapping[str, Any]]) -> None:
    """Write the page over nights, oldest first, as their history holds them."""
    names = sorted({each["assessment"] for each in nights})
    assessments = [_collect(name, [each for each in nights if each["assessment"] == name]) for name in names]
    write_text(out, render_alone("night.html", assessments=assessments, plot=_frame_plot()))


def _collect(name: str, nights: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    means = [each["change"]["mean"] for each in nights]
    bounds = [abs(each["change"][end] or 0) for each in nights for end in ("low", "high")]
    reach = next(each for each in REACHES if each >= max(bounds) or each == REACHES[-1])
    return {
        "name": name,
        "nights": nights[::-1],
        "last": nights[-1],
        "dots": place_dots(nights, means),
        "reach": reach,
    }


def place_dots(nights: Sequence[Mapping[str, Any]], means: Sequence[float | None]) -> list[dict[str, Any]]:
    """Place each night that has a mean on a line of time; 0 is the lower edge and 1 the upper one."""
    step = (WIDTH - LEFT - RIGHT) / max(len(nights) - 1, 1)
    apart = -(-len(nights) // LABELS)
    return [
        {
            "x": round(LEFT + number * step, 2),
            "y": _rise(mean),
            "title": f"{night['label']}: {mean:.3f}",
            "label": "" if (len(nights) - 1 - number) % apart else night["label"],
            "alarm": bool(night["change"]["alarms"]),
        }
        for number, (night, mean) in enumerate(zip(nights, means, strict=True))
        if mean is not None
    ]


def _rise(mean: float) -> float:
    return round(HEIGHT - BOTTOM - mean * (HEIGHT - BOTTOM - TOP), 2)


def _frame_plot() -> dict[str, Any]:
    ticks = [(_rise(each), f"{each:g}") for each in (0, 0.5, 1)]
    return {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT / 2, "ticks": ticks}
