"""Stage: the figures of an evaluation: tables 2 to 11, figures 2 to 4, methods in pairs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.errors import StageFailed
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.rows import CurvePoint, StepScore, StreamItem, StreamStep


def evaluation_figures(
    items: list[StreamItem],
    steps: list[StreamStep],
    scores: list[StepScore],
    curves: list[CurvePoint],
    entry: StreamEvaluation,
    settings: Mapping[str, Any],
    out: Path,
) -> None:
    """Write evaluation_figures.json: every cell that the page shows, with n scored and n failed beside it."""
    raise StageFailed("streambench.evaluation_figures: is not built yet")
