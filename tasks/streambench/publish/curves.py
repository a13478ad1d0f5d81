"""Stage: accuracy, regret and memory after each step, over seeds (section 5.2)."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.streambench.rows import CurvePoint, StepScore


def curves(scores: list[StepScore]) -> Drafts[CurvePoint]:
    """Compute a point for each method, models and position."""
    raise StageFailed("streambench.curves: is not built yet")
