"""Parameters of running streams: `streambench.steps` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field


class StreamLimits(BaseModel):
    """What runs of streams may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    refinements: int = Field(default=4, ge=0)
    """Of Self-Refine, at most."""
    window: int = Field(default=32_768, gt=0)
    """In tokens, of a model that names no context under `models`."""
    windows: Mapping[str, int] = {}
    """Role -> window."""
    exact_up_to: int = Field(default=20_000, gt=0)
    """Memories above which a vector index is used."""
