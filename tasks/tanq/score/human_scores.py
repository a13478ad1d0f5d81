"""Stage: score human-written tables, in the same way as stage `scores`."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.score.scores import PredictionScore, score_all
from tasks.tanq.solve.prediction import Prediction


def human_scores(items: list[TanqItem], human_tables: list[Prediction]) -> Drafts[PredictionScore]:
    """Score human-written tables by both variants of the metric, and list their failures."""
    return Drafts(score_all(items, human_tables, "human_tables"))
