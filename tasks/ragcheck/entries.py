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
    """Within 0 to 5. A rating mapped to 0 would count as "not sure", so the least of it is 1 by default."""

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
    """One entry of `ragcheck.correctness`; its key is that of a question set."""

    systems: Names
    """Names under `systems:`."""
    judges: Names = ("judge",)
    """Names under `roles:`; each judges every answer."""
    embedder: str | None = None
    """A name under `roles:`, for the cosine of embeddings; None leaves that baseline out."""
    bertscore: str | None = None
    """A model's name for BERTScore, if the package bert-score is installed; None leaves it out."""
    ratings: Path
    """File of people's ratings, CSV or JSON Lines with the columns item, rater and rating."""
    scale: RatingScale | None = None
    """The scale of the ratings; None is the judge's rubric, whole numbers from 0 to 5."""


class Continuity(Settings):
    """One entry of `ragcheck.continuity`; its key is that of a question set."""

    systems: Names
    """Names under `systems:`; every pair of them is compared."""
    take: int | None = Field(default=None, gt=0)
    """Number of questions, spread evenly over datasets; None is all of the set."""
    judge: str = "judge"
    """A name under `roles:`."""
