"""Stage: score the tables that people wrote, as `scores` does those of models."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.tanq.rows import TanqItem
from tasks.tanq.score.rows import PredictionScore
from tasks.tanq.score.scores import score_all
from tasks.tanq.solve.rows import Prediction


def human_scores(items: list[TanqItem], human_tables: list[Prediction]) -> Drafts[PredictionScore]:
    """Score people's tables by both rules, and name their failures."""
    return Drafts(score_all(items, human_tables, "human_tables"))
