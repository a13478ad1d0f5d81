"""Read the log probabilities of a reply and compare answer choices by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_LOGPROB = 0.01
"""Maximum accepted log probability; slightly above 0, because endpoints round the values."""


def read_logprobs(extra: Mapping[str, Any]) -> tuple[Mapping[str, float], ...]:
    """Return one map (token -> log probability) per position, for the top tokens and the actual token.

    Returns an empty tuple if any value has the wrong type or is greater than MAX_LOGPROB.
    """
    try:
        tokens = (extra.get("logprobs") or {}).get("content") or ()
        return tuple(
            dict(_read_choice(choice) for choice in [*token.get("top_logprobs", ()), token])
            for token in tokens
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()


def _read_choice(choice: Mapping[str, Any]) -> tuple[str, float]:
    token, logprob = choice["token"], choice["logprob"]
    if not isinstance(token, str) or not isinstance(logprob, int | float) or logprob > MAX_LOGPROB:
        raise ValueError("is not a token with its log probability")
    return token, logprob


def compare_choices(
    logprobs: Sequence[Mapping[str, float]], choices: Iterable[str]
) -> dict[str, float] | None:
    """Return each choice's probability at the first token, as a share of the total for all choices.

    A token counts for a choice if only that choice starts with the token, ignoring case and surrounding
    whitespace. Returns None if there are no log probabilities, or if no choice is among the most likely
    tokens. Equal shares instead of None would look like a verdict.
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
