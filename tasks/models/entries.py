"""The ledger entry: one recorded call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SHIPPED_FIELDS = ("key", "text", "finish_reason", "prompt_tokens", "completion_tokens", "estimated", "extra")


@dataclass(frozen=True)
class LedgerEntry:
    """A finished call, by its ledger key. Token counts are the provider's, or `estimated` from the texts."""

    key: str
    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)
    """Other parts of the reply, such as log probabilities or an embedding."""
    latency_s: float = 0.0
    attempts: int = 1
    """How often it was sent until a usable reply came."""
    at: float = 0.0
    """When it was recorded, in seconds since the Unix epoch. 0 in shipped ledgers."""
    model: str = ""
    """The model's name in params.yaml. Empty in shipped ledgers: it is part of the key."""
    batch: bool = False
    """Whether it came by the Batch API, at that API's share of the price."""

    def to_line(self) -> str:
        """Write the reproducible fields as one JSON line, without empty ones."""
        values = {name: getattr(self, name) for name in SHIPPED_FIELDS}
        kept = {name: value for name, value in values.items() if value is not False and value != {}}
        return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> LedgerEntry:
        """Read a line written by `to_line`. Raises ValueError that says what is wrong with it."""
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

    A quarter of its characters would be far too few for non-Latin scripts, and the budget relies on it.
    """
    return max(1, len(text.encode("utf-8", "replace")) // 4)
