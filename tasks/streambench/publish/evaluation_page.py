"""Stage: the page of an evaluation, and the stream as one can walk it."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import StageFailed
from tasks.models.calls import Call
from tasks.streambench.rows import CurvePoint, StreamItem, StreamStep


def evaluation_page(
    items: list[StreamItem],
    steps: list[StreamStep],
    steps_calls: list[Call],
    curves: list[CurvePoint],
    evaluation_figures: Path,
    key: str,
    out: Path,
) -> None:
    """Write the page into the folder `out`; the prompts that one walks come from the calls."""
    raise StageFailed("streambench.evaluation_page: is not built yet")
