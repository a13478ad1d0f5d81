"""The ledger entry: the record of one call and its answer."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

SHIPPED_FIELDS = ("key", "text", "finish_reason", "prompt_tokens", "completion_tokens", "estimated", "extra")
"""The reproducible fields of an entry; shipped ledgers contain only these fields."""
CHECKSUM = "checksum"
MAX_TOKENS = 100_000_000
"""Maximum number of tokens in an entry; larger numbers are errors."""
DEEPEST = 12
"""Maximum nesting depth of an entry's values, including `extra`."""


UNANSWERED = "unanswered"
"""The finish reason of a call that the endpoint refused, or never answered with a usable reply. The entry's
text contains the reason. A replay returns this entry; a live run repeats the call."""


@dataclass(frozen=True)
class LedgerEntry:
    """A finished call. Token counts are from the provider, or estimated from the texts (`estimated`)."""

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
    """Number of attempts that the call took; at least 1."""
    at: float = 0.0
    """Time of recording, in seconds since the Unix epoch; 0 in shipped ledgers."""
    model: str = ""
    """The model's name in params.yaml.

    Empty for a call to a system, and in shipped ledgers, where the key already depends on the name.
    """
    batch: bool = False
    """Whether the call used the Batch API, which has a lower price."""

    @property
    def is_unanswered(self) -> bool:
        """Return whether the endpoint gave no usable answer."""
        return self.finish_reason == UNANSWERED

    @property
    def model_named(self) -> str:
        """Return the model that the reply named; "" if unknown (as in older entries)."""
        return str(self.extra.get("model", ""))

    @property
    def reasoning(self) -> str:
        """Return the reasoning that was separated from the answer; "" if there was none."""
        return str(self.extra.get("reasoning", ""))

    @property
    def checksum(self) -> str:
        """Return the checksum of the reproducible fields."""
        return compute_checksum(
            self.key, self.text, self.finish_reason, self.prompt_tokens, self.completion_tokens,
            self.estimated, write_extra(self.extra),
        )  # fmt: skip

    def to_line(self) -> str:
        """Return the reproducible fields and their checksum as one JSON line.

        A false `estimated` and an empty `extra` are omitted.
        """
        values = {name: getattr(self, name) for name in SHIPPED_FIELDS}
        # `is not`, because 0 == False, and a count of 0 must be written.
        kept = {name: value for name, value in values.items() if value is not False and value != {}}
        return CANONICAL.encode({CHECKSUM: self.checksum, **kept})

    @classmethod
    def from_line(cls, line: str) -> LedgerEntry:
        """Parse a line from `to_line`, or a line without a checksum from an earlier version.

        Raises ValueError with the reason if the line is not valid.
        """
        try:
            values = json.loads(line)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        if not isinstance(values, dict):
            raise ValueError("is not a JSON object")  # noqa: TRY004
        checksum = values.pop(CHECKSUM, None)
        if unknown := sorted(values.keys() - set(SHIPPED_FIELDS)):
            raise ValueError(f"has the unknown key {unknown[0][:40]!r}")
        for name, kind in (("key", str), ("text", str), ("finish_reason", str), ("prompt_tokens", int),
                           ("completion_tokens", int)):  # fmt: skip
            if not isinstance(values.get(name), kind):
                raise ValueError(f"has no {name!r} of type {kind.__name__}")  # noqa: TRY004
        if not (is_count(values["prompt_tokens"]) and is_count(values["completion_tokens"])):
            raise ValueError("has a token count that is negative or too large")
        if not isinstance(values.get("estimated", False), bool):
            raise ValueError("has an 'estimated' that is not a boolean")  # noqa: TRY004
        if not isinstance(values.get("extra", {}), dict):
            raise ValueError("has an 'extra' that is not an object")  # noqa: TRY004
        check_values(values)
        entry = cls(**values)
        if checksum is not None and checksum != entry.checksum:
            raise ValueError(f"call {entry.key[:12]!r} does not match its recorded checksum")
        return entry


CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
"""The JSON encoding of shipped lines and checksums; a different encoding would change both."""


def write_extra(extra: Mapping[str, object]) -> str:
    """Return an entry's `extra` as canonical JSON: equal values give equal text."""
    return CANONICAL.encode(dict(extra)) if extra else "{}"


def compute_checksum(
    key: str, text: str, finish_reason: str, prompt_tokens: int, completion_tokens: int, estimated: bool,
    extra: str,
) -> str:  # fmt: skip
    """Return the checksum of an entry's reproducible fields: the first half of a SHA-256.

    `extra`: JSON text.
    """
    fields = [key, text, finish_reason, prompt_tokens, completion_tokens, bool(estimated), extra]
    return hashlib.sha256(CANONICAL.encode(fields).encode()).hexdigest()[:32]


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is a possible number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


def check_values(value: object) -> None:
    """Raise ValueError if a value cannot be stored in a ledger.

    A ledger cannot store lone surrogates, NaN, infinity, integers of more than 64 bits, or values with more
    than DEEPEST nesting levels.
    """
    level = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for member in level:
            if isinstance(member, dict):
                below += member
                below += member.values()
            elif isinstance(member, list):
                if set(map(type, member)) == {float}:  # an embedding: check the sum instead of each member
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
            raise ValueError("contains a lone surrogate") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("contains a number that is not finite")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("contains an integer of more than 64 bits")


def estimate_tokens(text: str) -> int:
    """Estimate a text's number of tokens as a quarter of its UTF-8 bytes, at least 1.

    The budget relies on this estimate. A quarter of the characters would be far too low for non-Latin
    scripts.
    """
    return max(1, len(text.encode("utf-8", "replace")) // 4)
