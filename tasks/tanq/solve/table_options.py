"""Parameters of the baselines: `tanq.predictions` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from tasks.settings import Settings


class OpenLimits(Settings):
    """How much the open agent may do and see."""

    steps: int = Field(default=4, gt=0)
    """Steps of the main agent: sub-tasks and calculations, before it writes its table."""
    sub_steps: int = Field(default=4, gt=1)
    """Replies of a sub-agent, the last of which says what it found."""
    evidence: int = Field(default=6, gt=0)
    """Sentences, cells and entries that FindEvidence returns at most."""
    result_tokens: int = Field(default=300, gt=0)
    """Maximum size of a tool's result; the rest of it is left out."""
    step_tokens: int = Field(default=90, gt=0)
    """Maximum length of a step."""
    found_tokens: int = Field(default=160, gt=0)
    """Maximum length of what a sub-agent says that it found."""


class PredictionLimits(Settings):
    """Parameters of the stage `tanq.predictions`."""

    seed: int = 0
    """The seed that chooses examples and distractors."""
    distractors: int = Field(default=8, ge=0)
    """Proofs of other questions that oracle prompts have beside the item's own."""
    table_tokens: int = Field(default=250, gt=0)
    """Maximum length of a reply with a table."""
    window: int = Field(default=32_768, gt=0)
    """Context in tokens of a model that says none under `models`."""
    windows: Mapping[str, int] = {}
    """The same by role."""
    least_window: int = Field(default=4096, ge=0)
    """A model with less is not asked in the oracle setting (section 4)."""
    open: OpenLimits = OpenLimits()
