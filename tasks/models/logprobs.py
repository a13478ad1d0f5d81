"""Read log probabilities and compare choices by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def read_logprobs(extra: Mapping[str, Any]) -> tuple[Mapping[str, float], ...]:
    """Read log probabilities: for each token, the most likely tokens at its position, including itself."""
    tokens = (extra.get("logprobs") or {}).get("content") or ()
    return tuple(
        {choice["token"]: choice["logprob"] for choice in [*token.get("top_logprobs", ()), token]}
        for token in tokens
    )


def compare_choices(
    logprobs: Sequence[Mapping[str, float]], choices: Iterable[str]
) -> dict[str, float] | None:
    """Compute each choice's share of the probability that the first token gives to all choices.

    A token counts for the one choice that starts with it, ignoring case and blanks. None if no choice
    is among the most likely tokens, or there are no log probabilities: no verdict, not an even one.
    """
    first = logprobs[0] if logprobs else {}
    shares = dict.fromkeys(choices, 0.0)
    for token, logprob in first.items():
        begun = [choice for choice in shares if _begins(token, choice)]
        if len(begun) == 1:
            shares[begun[0]] += math.exp(logprob)
    total = sum(shares.values())
    return {choice: float(f"{share / total:.10g}") for choice, share in shares.items()} if total else None


def _begins(token: str, choice: str) -> bool:
    start = token.strip().casefold()
    return bool(start) and choice.casefold().startswith(start)
