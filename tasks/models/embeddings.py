"""Texts in, vectors out (the `embed` of a stage's `ask`): each text is a recorded call of its own.

An embeddings call is a request whose one message has the role `input`; everything else about it,
its key, its ledger entry and its row in the calls artifact, is as with any call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.models.ask import Request, Role

INPUT = "input"
DIGITS = 10


def make_embedding(text: str, role: Role, *, identity: str = "", epoch: str = "") -> Request:
    """Make the request of one text. An embedder has no sampling, so no decoding is part of the key."""
    return Request(role.model, ({"role": INPUT, "content": text},), epoch=epoch, identity=identity)


def is_embedding(request: Request) -> bool:
    """Tell whether a request asks for a vector."""
    return request.messages[0]["role"] == INPUT


def read_vector(extra: Any) -> list[float]:
    """Read the vector of an entry's `extra`, of the model's length."""
    return [float(value) for value in extra["embedding"]]


def round_vector(values: Sequence[float]) -> list[float]:
    """Write floats to 10 significant digits, which gives back every float32 exactly."""
    return [float(f"{value:.{DIGITS}g}") for value in values]
