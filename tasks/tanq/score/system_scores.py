"""Stage: similarity of the tables that a system of the user's predicted, for nights."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.tanq.rows import TanqItem
from tasks.tanq.score.rows import PredictionScore
from tasks.tanq.score.scores import list_answered as list_answered
from tasks.tanq.score.scores import list_scored as list_scored
from tasks.tanq.score.scores import score_all
from tasks.tanq.solve.rows import Prediction


def system_scores(items: list[TanqItem], predictions: list[Prediction]) -> Drafts[PredictionScore]:
    """Score every prediction as `scores` does."""
    return Drafts(score_all(items, predictions, "predictions"))
