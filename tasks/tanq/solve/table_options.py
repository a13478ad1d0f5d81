"""Define the parameters of the baselines: `tanq.predictions` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from tasks.settings import Settings


class OpenLimits(Settings):
    """Limits of the open agent."""

    steps: int = Field(default=4, gt=0)
    """Maximum number of steps of the main agent: sub-tasks and calculations."""
    sub_steps: int = Field(default=4, gt=1)
    """Maximum number of replies from a sub-agent, including its finding."""
    evidence: int = Field(default=6, gt=0)
    """Maximum number of sentences, cells and infobox entries that FindEvidence returns."""
    result_tokens: int = Field(default=300, gt=0)
    """Maximum number of tokens in a tool's result; longer results are truncated."""
    step_tokens: int = Field(default=90, gt=0)
    """Maximum number of tokens in a step."""
    found_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens in a sub-agent's finding."""


class PredictionLimits(Settings):
    """The settings in params.yaml under `tanq.predictions`: parameters of the baselines."""

    seed: int = 0
    """The seed for choosing examples and distractors."""
    distractors: int = Field(default=8, ge=0)
    """Number of proofs from other questions in an oracle prompt."""
    table_tokens: int = Field(default=250, gt=0)
    """Maximum number of tokens in a reply with a table."""
    window: int = Field(default=32_768, gt=0)
    """Context window in tokens for models without `context` under `models`."""
    windows: Mapping[str, int] = {}
    """The context window in tokens for each role; overrides `context` and `window`."""
    least_window: int = Field(default=4096, ge=0)
    """Minimum context window in tokens for the oracle setting (TANQ, section 4)."""
    open: OpenLimits = OpenLimits()
