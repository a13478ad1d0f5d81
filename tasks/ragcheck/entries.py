"""Entries of `ragcheck.correctness` and `ragcheck.continuity` in params.yaml: systems asked, and judges."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from tasks.distinct import Names
from tasks.settings import Settings


class RatingScale(Settings):
    """The scale that people rated on, if it is not the judge's: mapped linearly onto `onto`."""

    low: float
    """The worst rating."""
    high: float
    """The best rating."""
    onto: tuple[float, float] = (1.0, 5.0)
    """The target range within 0 to 5. It starts at 1, because 0 means "not sure"."""

    @model_validator(mode="after")
    def _check_ends(self) -> RatingScale:
        if self.low >= self.high or not 0 <= self.onto[0] < self.onto[1] <= 5:
            raise ValueError("low must be below high, and `onto` within 0 and 5")
        return self

    def map(self, rating: float) -> float:
        """Map a rating, low to high, onto the judge's scale."""
        bottom, top = self.onto
        return bottom + (rating - self.low) * (top - bottom) / (self.high - self.low)


class Assessment(Settings):
    """An entry of `ragcheck.correctness`; its key is that of a question set."""

    systems: Names
    """Names under `systems:`."""
    judges: Names = ("judge",)
    """Names under `roles:`; each judges every answer."""
    embedder: str | None = None
    """A name under `roles`, for the cosine of embeddings; null skips this baseline."""
    bertscore: str | None = None
    """The model for BERTScore, which needs the package bert-score; null skips this baseline."""
    ratings: Path
    """A CSV or JSON Lines file of people's ratings with the columns item, rater and rating."""
    scale: RatingScale | None = None
    """The scale of the ratings; null is the judge's rubric, integers from 0 to 5."""


class Continuity(Settings):
    """An entry of `ragcheck.continuity`; its key is that of a question set."""

    systems: Names
    """Names under `systems:`; every pair of them is compared."""
    take: int | None = Field(default=None, gt=0)
    """Number of questions, spread evenly over datasets; null takes all of the set."""
    judge: str = "judge"
    """A name under `roles:`."""
