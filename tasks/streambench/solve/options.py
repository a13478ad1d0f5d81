"""Define the settings `streambench.steps` and `streambench.system_steps` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from tasks.settings import Settings
from tasks.streambench.entries import Choices, MethodChoice, Order, Reading, Seeds


class StreamLimits(Settings):
    """The limits for runs over a stream."""

    refinements: int = Field(default=4, ge=0)
    """Maximum number of refinements in Self-Refine."""
    critique_tokens: int = Field(default=200, gt=0)
    """Maximum length of a critique in Self-Refine, in tokens."""
    window: int = Field(default=32_768, gt=0)
    """Context window in tokens for models without `context` under `models`."""
    windows: Mapping[str, int] = {}
    """Role -> the model's context window in tokens."""
    exact_up_to: int = Field(default=20_000, gt=0)
    """Maximum number of memory entries for exact search; for more entries, a vector index is used."""
    count_unanswered: bool = False
    """Whether a step without a reply counts as wrong.

    If true, a replay stops at this step, because the ledger does not contain the call. If false, the stage
    fails once all its runs have ended. The next run of the stage then repeats the unanswered calls.
    """


class OwnLimits(StreamLimits):
    """The limits for your system's runs, and the settings of `benchloom evaluate streambench`."""

    methods: Choices = (MethodChoice(method="zero_shot"), MethodChoice(method="self_stream_icl"))
    """Methods to run.

    Only `benchloom evaluate` uses this key and the keys below; entries in params.yaml have their own keys.
    """
    seeds: Seeds = (42,)
    """Seeds to run."""
    k: int | None = Field(default=None, gt=0)
    """Maximum number of examples in a prompt; null means 16, or 4 for DS-1000 and HotpotQA."""
    embedder: str = "embedder"
    """The role that embeds memory keys."""
    judge: str = "judge"
    """The role that judges ToolBench's answers."""
    rule: str = ""
    """The scoring rule, as in an entry of `streambench.streams`."""
    options: Mapping[str, Any] = {}
    """Options of the environment, as in an entry of `streambench.streams`."""
    order: Order = "hashed"
    """The order of the items, as in an entry of `streambench.streams`."""
    reading: Reading = "lenient"
    """How replies are parsed, as in an entry of `streambench.streams`."""
