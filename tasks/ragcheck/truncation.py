"""Truncate texts and contexts to a token budget; an ellipsis marks where a text was truncated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.judging.quoting import clean
from tasks.systems.contract import Passage

ASCII_PER_TOKEN = 4
ELLIPSIS = " ..."


def estimate_tokens(text: str) -> float:
    """Estimate a text's tokens: one per four ASCII characters, and one per other character."""
    ascii_characters = sum(character.isascii() for character in text)
    return ascii_characters / ASCII_PER_TOKEN + len(text) - ascii_characters


def truncate_text(text: str, tokens: float) -> str:
    """Truncate a text to a number of tokens, at the last space if that keeps more than half of it."""
    left = tokens
    for place, character in enumerate(text):
        left -= 1 / ASCII_PER_TOKEN if character.isascii() else 1
        if left < 0:
            whole_words = text[:place].rpartition(" ")[0]
            return (whole_words if len(whole_words) > place / 2 else text[:place]).rstrip() + ELLIPSIS
    return text


def truncate_contexts(passages: Sequence[Passage], tokens: int) -> list[str]:
    """Truncate contexts to a token budget, best first.

    Every passage becomes one line without line ends, hidden characters or role markers; the last one that
    fits in part is truncated.
    """
    return list(_truncate(passages, tokens))


def _truncate(passages: Sequence[Passage], tokens: float) -> Iterator[str]:
    for passage in passages:
        text = clean(f"{passage.title}: {passage.text}" if passage.title else passage.text)
        size = estimate_tokens(text)
        if size > tokens:
            if tokens > estimate_tokens(ELLIPSIS):
                yield truncate_text(text, tokens)
            return
        yield text
        tokens -= size
