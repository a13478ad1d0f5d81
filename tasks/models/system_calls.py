"""Calls to systems under test as requests: keyed, recorded and replayed like model calls.

A call's one message has the role `call` and contains the request as JSON; the system's name is in the
place of the model and its version in that of the checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from tasks.models.ask import CANONICAL, Request, try_parse
from tasks.models.entries import LedgerEntry

Value = TypeVar("Value")

CALL = "call"
FAILED = "failed"
"""The finish reason of a call that has no answer; its text says why."""


def make_system_call(name: str, version: str, request: Mapping[str, object], *, epoch: str = "") -> Request:
    """Make the request of a call to a system. It has no sampling, so no decoding is part of the key."""
    message = {"role": CALL, "content": CANONICAL.encode(dict(request))}
    return Request(name, (message,), epoch=epoch, identity=version)


def is_system_call(request: Request) -> bool:
    """Tell whether a request goes to a system under test."""
    return request.messages[0]["role"] == CALL


def read_system(entry: LedgerEntry, parse: Callable[[str], Value]) -> tuple[Value | None, str | None]:
    """Parse a system's answer; return (value, None), or (None, reason) if it failed or does not parse."""
    if entry.finish_reason == FAILED:
        return None, entry.text
    return try_parse(parse, entry.text)
