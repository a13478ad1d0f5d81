"""Embedding calls (the `embed` of a stage's `ask`): each text is a recorded call of its own.

An embedding is a request whose one message has the role `input`; its key, its ledger entry and its
row in the calls artifact are like any other call's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.models.ask import Request, Role

INPUT = "input"
DIGITS = 10


def make_embedding(text: str, role: Role, *, identity: str = "", epoch: str = "") -> Request:
    """Make the request that embeds one text. There is no sampling, so no decoding is part of the key."""
    return Request(role.model, ({"role": INPUT, "content": text},), epoch=epoch, identity=identity)


def is_embedding(request: Request) -> bool:
    """Tell whether a request asks for a vector."""
    return request.messages[0]["role"] == INPUT


def read_vector(extra: Mapping[str, Any]) -> list[float]:
    """Read the vector from a ledger entry's `extra`."""
    return [float(value) for value in extra["embedding"]]


def round_vector(values: Sequence[float]) -> list[float]:
    """Round floats to 10 significant digits, which represents every float32 exactly."""
    return [float(f"{value:.{DIGITS}g}") for value in values]
