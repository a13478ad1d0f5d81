"""Stage of nightly runs: score the tables that a user's system predicted."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.score.scores import PredictionScore, score_all
from tasks.tanq.score.scores import list_answered as list_answered
from tasks.tanq.score.scores import list_scored as list_scored
from tasks.tanq.solve.prediction import Prediction


def system_scores(items: list[TanqItem], predictions: list[Prediction]) -> Drafts[PredictionScore]:
    """Score every prediction in the same way as stage `scores`."""
    return Drafts(score_all(items, predictions, "predictions"))
