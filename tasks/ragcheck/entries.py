"""Entries of `ragcheck.correctness` and `ragcheck.continuity` in params.yaml: systems asked, and judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names. Raises ValueError if one occurs twice."""
    if len(set(names)) < len(names):
        raise ValueError("a name stands twice")
    return names


Names = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(check_distinct)]


class Assessment(BaseModel):
    """One entry of `ragcheck.correctness`; its key is that of a question set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class Continuity(BaseModel):
    """One entry of `ragcheck.continuity`; its key is that of a question set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    systems: Names
    """Names under `systems:`; every pair of them is compared."""
    take: int | None = Field(default=None, gt=0)
    """Number of questions, spread evenly over datasets; None is all of the set."""
    judge: str = "judge"
    """A name under `roles:`."""
