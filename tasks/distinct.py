"""Validate lists of names in params.yaml: not empty, and without duplicates."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names unchanged. Raises ValueError if a name occurs twice."""
    if len(set(names)) < len(names):
        raise ValueError("a name occurs twice")
    return names


Names = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(check_distinct)]
