"""The page of all nights: each assessment's mean night by night, and what fell in the last one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.files import write_text
from tasks.reports.page import PAGES
from tasks.reports.site import STYLE

WIDTH, HEIGHT, MARGIN = 640, 120, 12
"""Of an assessment's line, in SVG units."""


def write_page(out: Path, nights: Sequence[Mapping[str, Any]]) -> None:
    """Write the page over nights, oldest first, as their history holds them."""
    names = sorted({each["assessment"] for each in nights})
    assessments = [_collect(name, [each for each in nights if each["assessment"] == name]) for name in names]
    style = STYLE.read_text(encoding="utf-8")
    seal = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    write_text(out, PAGES.get_template("night.html").render(assessments=assessments, style=style, seal=seal))


def _collect(name: str, nights: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    means = [each["change"]["mean"] for each in nights]
    return {"name": name, "nights": nights[::-1], "last": nights[-1], "dots": place_dots(nights, means)}


def place_dots(nights: Sequence[Mapping[str, Any]], means: Sequence[float | None]) -> list[dict[str, Any]]:
    """Place each night that has a mean on a line of time; 0 is the lower edge and 1 the upper one."""
    step = (WIDTH - 2 * MARGIN) / max(len(nights) - 1, 1)
    return [
        {
            "x": round(MARGIN + number * step, 2),
            "y": round(HEIGHT - MARGIN - mean * (HEIGHT - 2 * MARGIN), 2),
            "title": f"{night['label']}: {mean:.3f}",
            "alarm": bool(night["change"]["alarms"]),
        }
        for number, (night, mean) in enumerate(zip(nights, means, strict=True))
        if mean is not None
    ]
