"""Parameters of running streams: `streambench.steps` and `streambench.system_steps` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from tasks.settings import Settings
from tasks.streambench.entries import Choices, MethodChoice, Order, Reading, Seeds


class StreamLimits(Settings):
    """The limits of stream runs."""

    refinements: int = Field(default=4, ge=0)
    """Of Self-Refine, at most."""
    critique_tokens: int = Field(default=200, gt=0)
    """Maximum length of a critique of Self-Refine."""
    window: int = Field(default=32_768, gt=0)
    """In tokens, of a model that names no context under `models`."""
    windows: Mapping[str, int] = {}
    """Role -> window."""
    exact_up_to: int = Field(default=20_000, gt=0)
    """Memories above which a vector index is used."""
    count_unanswered: bool = False
    """Whether a step whose call no endpoint answered is written, as wrong; such a call is in no ledger, so
    that a replay ends there. Otherwise the stage fails at its end, and a run again asks these calls again."""


class OwnLimits(StreamLimits):
    """The limits for runs of a user's system, also by `benchloom evaluate streambench`."""

    methods: Choices = (MethodChoice(method="zero_shot"), MethodChoice(method="self_stream_icl"))
    """These and the others below are of `benchloom evaluate` alone; an entry has its own."""
    seeds: Seeds = (42,)
    k: int | None = Field(default=None, gt=0)
    embedder: str = "embedder"
    judge: str = "judge"
    rule: str = ""
    """As of a stream, as are the next ones."""
    options: Mapping[str, Any] = {}
    order: Order = "hashed"
    reading: Reading = "lenient"
