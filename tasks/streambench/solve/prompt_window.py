"""Put a prompt together within its window: the parts, past steps two blank lines apart, the reply's room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.judging.prompt_room import estimate_tokens
from tasks.streambench.environment import PromptParts
from tasks.streambench.memory import RetrievedEntry

BETWEEN = "\n\n\n"
"""Two blank lines."""
FRAME = 160
"""Tokens of the longest prompt file without its fields, at most."""
SLACK = 0.9
"""The share of a window that is filled: tokens are estimated."""


@dataclass(frozen=True)
class FittedTexts:
    """The last of some texts that have room; the first `left_out` of them have not."""

    texts: tuple[str, ...]
    left_out: int


def fit_texts(texts: Sequence[str], room: float) -> FittedTexts:
    """Keep as many of the last texts as have room, in tokens."""
    kept = len(texts)
    while kept and (room := room - measure(texts[kept - 1]) - 1) >= 0:
        kept -= 1
    return FittedTexts(tuple(texts[kept:]), kept)


def measure_room(parts: PromptParts, window: int, reply_tokens: int, more: Iterable[str] = ()) -> float:
    """Measure what a window has left, in tokens, beside an item, what else is shown and the reply.

    Negative where the item itself does not fit.
    """
    shown = (parts.task, parts.common, parts.context, parts.question, parts.instruction, *more)
    return window * SLACK - reply_tokens - FRAME - sum(map(measure, shown))


def list_fields(parts: PromptParts) -> dict[str, object]:
    """List the fields that every prompt has."""
    return {
        "task": parts.task,
        "common": parts.common,
        "context": parts.context,
        "question": parts.question,
        "instruction": parts.instruction,
    }


def name_source(source: RetrievedEntry) -> str:
    """Name an example that was left out."""
    return f"example of step {source.position}" if source.position else f"shot {source.item}"


@lru_cache(maxsize=16_384)
def measure(text: str) -> float:
    """Estimate a text's tokens; the same ones come with many prompts."""
    return estimate_tokens(text)
