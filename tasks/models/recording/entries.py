"""The ledger entry: one recorded call."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

SHIPPED_FIELDS = ("key", "text", "finish_reason", "prompt_tokens", "completion_tokens", "estimated", "extra")
CHECKSUM = "checksum"
MAX_TOKENS = 100_000_000
"""More tokens than that no call can have."""
DEEPEST = 12
"""How deep the values of `extra` may be nested."""


UNANSWERED = "unanswered"
"""The finish reason of a call whose endpoint refused it, or never gave a usable reply; its text says why.

It stands in the ledger for replays. A live run asks again.
"""


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

    @property
    def is_unanswered(self) -> bool:
        """Return whether no answer came."""
        return self.finish_reason == UNANSWERED

    @property
    def model_named(self) -> str:
        """The model that the reply named; empty if it named none, or was recorded by an earlier version."""
        return str(self.extra.get("model", ""))

    @property
    def reasoning(self) -> str:
        """Return the text before the answer that was removed as reasoning."""
        return str(self.extra.get("reasoning", ""))

    @property
    def checksum(self) -> str:
        """The checksum of the reproducible fields."""
        return compute_checksum(
            self.key, self.text, self.finish_reason, self.prompt_tokens, self.completion_tokens,
            self.estimated, write_extra(self.extra),
        )  # fmt: skip

    def to_line(self) -> str:
        """Write the reproducible fields and their checksum as one JSON line, without empty ones."""
        values = {name: getattr(self, name) for name in SHIPPED_FIELDS}
        kept = {name: value for name, value in values.items() if value is not False and value != {}}
        return CANONICAL.encode({CHECKSUM: self.checksum, **kept})

    @classmethod
    def from_line(cls, line: str) -> LedgerEntry:
        """Read a line written by `to_line`, or one without a checksum, as earlier versions wrote it.

        Raises ValueError that says what is wrong with it.
        """
        try:
            values = json.loads(line)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        if not isinstance(values, dict):
            raise ValueError("is no JSON object")  # noqa: TRY004
        checksum = values.pop(CHECKSUM, None)
        if unknown := sorted(values.keys() - set(SHIPPED_FIELDS)):
            raise ValueError(f"has the unknown key {unknown[0][:40]!r}")
        for name, kind in (("key", str), ("text", str), ("finish_reason", str), ("prompt_tokens", int),
                           ("completion_tokens", int)):  # fmt: skip
            if not isinstance(values.get(name), kind):
                raise ValueError(f"has no {name!r} of type {kind.__name__}")  # noqa: TRY004
        if not (is_count(values["prompt_tokens"]) and is_count(values["completion_tokens"])):
            raise ValueError("has a number of tokens that no call can have")
        if not isinstance(values.get("estimated", False), bool):
            raise ValueError("has an 'estimated' that is no boolean")  # noqa: TRY004
        if not isinstance(values.get("extra", {}), dict):
            raise ValueError("has an 'extra' that is no object")  # noqa: TRY004
        check_values(values)
        entry = cls(**values)
        if checksum is not None and checksum != entry.checksum:
            raise ValueError(f"call {entry.key[:12]!r} does not have the checksum that it says")
        return entry


CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def write_extra(extra: Mapping[str, object]) -> str:
    """Write an entry's `extra` as JSON, always the same for the same values."""
    return CANONICAL.encode(dict(extra)) if extra else "{}"


def compute_checksum(
    key: str, text: str, finish_reason: str, prompt_tokens: int, completion_tokens: int, estimated: bool,
    extra: str,
) -> str:  # fmt: skip
    """Compute the checksum of an entry's reproducible fields: half of a SHA-256. extra: as JSON."""
    fields = [key, text, finish_reason, prompt_tokens, completion_tokens, bool(estimated), extra]
    return hashlib.sha256(CANONICAL.encode(fields).encode()).hexdigest()[:32]


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value may be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


def check_values(value: object) -> None:
    """Raise ValueError for what no ledger can hold.

    That is text that is not UTF-8, a number that is not finite or has more than 64 bits, and values that
    are nested too deeply.
    """
    level = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for member in level:
            if isinstance(member, dict):
                below += member
                below += member.values()
            elif isinstance(member, list):
                if set(map(type, member)) == {float}:  # a vector, whose members need not be looked at singly
                    below.append(sum(member))
                else:
                    below += member
            else:
                _check_value(member)
        if not below:
            return
        level = below
    raise ValueError("is nested too deeply")


def _check_value(value: object) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half a surrogate pair") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("holds a number that is not finite")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("holds a number of more than 64 bits")


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens as a quarter of its bytes, at least one.

    A quarter of its characters would be far too few for non-Latin scripts, and the budget relies on it.
    """
    return max(1, len(text.encode("utf-8", "replace")) // 4)
