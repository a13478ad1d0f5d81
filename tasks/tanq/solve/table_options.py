"""Parameters of the baselines: `tanq.predictions` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from tasks.settings import Settings


class OpenLimits(Settings):
    """Limits of the open agent."""

    steps: int = Field(default=4, gt=0)
    """Maximum number of the main agent's sub-tasks and calculations."""
    sub_steps: int = Field(default=4, gt=1)
    """Maximum number of a sub-agent's replies, with its result."""
    evidence: int = Field(default=6, gt=0)
    """Maximum number of sentences, cells and entries from FindEvidence."""
    result_tokens: int = Field(default=300, gt=0)
    """Maximum number of tokens of a tool's result; the rest is cut."""
    step_tokens: int = Field(default=90, gt=0)
    """Maximum length of a step."""
    found_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens of a sub-agent's result."""


class PredictionLimits(Settings):
    """Parameters of the stage `tanq.predictions`."""

    seed: int = 0
    """The seed that chooses examples and distractors."""
    distractors: int = Field(default=8, ge=0)
    """Number of other questions' proofs in an oracle prompt."""
    table_tokens: int = Field(default=250, gt=0)
    """Maximum length of a reply with a table."""
    window: int = Field(default=32_768, gt=0)
    """Context window in tokens of a model without `context` under `models`."""
    windows: Mapping[str, int] = {}
    """Role -> its context window."""
    least_window: int = Field(default=4096, ge=0)
    """Minimum context window for the oracle setting (section 4)."""
    open: OpenLimits = OpenLimits()
