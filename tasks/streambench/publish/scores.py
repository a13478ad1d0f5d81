"""Stage: what each step scored and cost."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.models.calls import Call
from tasks.streambench.rows import StepScore, StreamStep


def scores(steps: list[StreamStep], steps_calls: list[Call]) -> Drafts[StepScore]:
    """Join steps to the tokens of their calls (tables 8 to 11). Raises StageFailed for a missing call."""
    raise StageFailed("streambench.scores: is not built yet")
