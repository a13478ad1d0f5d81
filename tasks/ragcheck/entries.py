"""Entries of `ragcheck.correctness` and `ragcheck.continuity` in params.yaml: systems and judges."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from tasks.distinct import Names
from tasks.settings import Settings


class RatingScale(Settings):
    """People's rating scale, if it differs from the judge's scale. Ratings are mapped linearly to `onto`."""

    low: float
    """The worst rating."""
    high: float
    """The best rating."""
    onto: tuple[float, float] = (1.0, 5.0)
    """The target range within 0 to 5. The default range starts at 1, because 0 means "not sure"."""

    @model_validator(mode="after")
    def _check_ends(self) -> RatingScale:
        if self.low >= self.high or not 0 <= self.onto[0] < self.onto[1] <= 5:
            raise ValueError("low must be below high, and `onto` must be between 0 and 5")
        return self

    def map(self, rating: float) -> float:
        """Map a rating between `low` and `high` onto the judge's scale."""
        bottom, top = self.onto
        return bottom + (rating - self.low) * (top - bottom) / (self.high - self.low)


class Assessment(Settings):
    """An entry of `ragcheck.correctness`. The entry's key is the name of a question set."""

    systems: Names
    """The systems: names under `systems:`."""
    judges: Names = ("judge",)
    """The judges: names under `roles:`. Each judge grades every answer."""
    embedder: str | None = None
    """The embedding model: a name under `roles`, for the cosine of embeddings. null skips this baseline."""
    bertscore: str | None = None
    """The model for BERTScore, which needs the package bert-score. null skips this baseline."""
    ratings: Path
    """A CSV or JSON Lines file of people's ratings with the columns item, rater and rating."""
    scale: RatingScale | None = None
    """The scale of the ratings. null means the judge's rubric: whole numbers from 0 to 5."""


class Continuity(Settings):
    """An entry of `ragcheck.continuity`. The entry's key is the name of a question set."""

    systems: Names
    """The systems: names under `systems:`. Every pair of systems is compared."""
    take: int | None = Field(default=None, gt=0)
    """Number of questions, spread evenly over datasets. null uses the whole set."""
    judge: str = "judge"
    """The judge: a name under `roles:`."""
