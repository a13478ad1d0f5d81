"""`ragcheck.correctness` and `ragcheck.continuity` in params.yaml: which systems are asked, who judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a name that stands twice."""
    if len(set(names)) < len(names):
        raise ValueError("a name stands twice")
    return names


Names = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(check_distinct)]


class Assessment(BaseModel):
    """One entry of `ragcheck.correctness`; its key is a set's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    systems: Names
    """Names under `systems:`."""
    judges: Names = ("judge",)
    """Names under `roles:`; each judges everything."""
    embedder: str | None = None
    """A name under `roles:`, for the similarity of embeddings; None leaves it out."""
    bertscore: str | None = None
    """A model's name, for BERTScore where the package bert-score is installed; None leaves it out."""
    ratings: Path
    """People's ratings, CSV or JSON Lines: item, rater, rating."""


class Continuity(BaseModel):
    """One entry of `ragcheck.continuity`; its key is a set's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    systems: Names
    """Names under `systems:`; each two of them are compared."""
    take: int | None = Field(default=None, gt=0)
    """How many questions, alike of each dataset; None is all of the set."""
    judge: str = "judge"
    """A name under `roles:`."""
