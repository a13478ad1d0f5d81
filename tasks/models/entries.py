"""One recorded call: what a ledger holds under a key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHIPPED_FIELDS = ("key", "text", "finish_reason", "prompt_tokens", "completion_tokens", "estimated", "extra")


@dataclass(frozen=True)
class Entry:
    """A finished call. Token counts are the provider's, or `estimated` from the texts' length."""

    key: str
    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else came back, such as log probabilities or an embedding."""
    latency_s: float = 0.0
    attempts: int = 1
    """How often it was sent until a usable reply came."""
    at: float = 0.0
    """When it was recorded: seconds since the epoch. 0 where shipped."""
    model: str = ""
    """Who answered, as params.yaml names it. Empty where shipped: the key holds it."""
    batch: bool = False
    """Whether it came by the Batch API, at its share of the price."""

    def to_line(self) -> str:
        """Write the part that is the same for everybody as one JSON line, without what is empty."""
        values = {name: getattr(self, name) for name in SHIPPED_FIELDS}
        kept = {name: value for name, value in values.items() if value is not False and value != {}}
        return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> Entry:
        """Read `to_line`'s JSON. Raises ValueError that says what is wrong with it."""
        values = json.loads(line)
        if not isinstance(values, dict):
            raise ValueError("is no JSON object")  # noqa: TRY004
        if unknown := sorted(values.keys() - set(SHIPPED_FIELDS)):
            raise ValueError(f"has the unknown key {unknown[0]!r}")
        for name, kind in (("key", str), ("text", str), ("finish_reason", str), ("prompt_tokens", int),
                           ("completion_tokens", int)):  # fmt: skip
            if not isinstance(values.get(name), kind):
                raise ValueError(f"has no {name!r} of type {kind.__name__}")  # noqa: TRY004
        if not isinstance(values.get("extra", {}), dict):
            raise ValueError("has an 'extra' that is no object")  # noqa: TRY004
        return cls(**values)


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens as a quarter of its bytes, at least one.

    Of its characters would be too few by far for scripts other than Latin, and a budget stands on it.
    """
    return max(1, len(text.encode("utf-8", "replace")) // 4)
