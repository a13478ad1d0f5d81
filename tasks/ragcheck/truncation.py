"""What a small context has room for: texts cut to a budget of tokens, told by a mark that they are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.judging.quoting import clean
from tasks.systems.contract import Passage

ASCII_PER_TOKEN = 4
GAP = " ..."


def estimate_tokens(text: str) -> float:
    """Estimate a text's tokens: a quarter of its ASCII characters, and one for each other."""
    plain = sum(character.isascii() for character in text)
    return plain / ASCII_PER_TOKEN + len(text) - plain


def truncate_text(text: str, tokens: float) -> str:
    """Cut a text to so many tokens, at a blank where there is one near."""
    left = tokens
    for place, character in enumerate(text):
        left -= 1 / ASCII_PER_TOKEN if character.isascii() else 1
        if left < 0:
            whole = text[:place].rpartition(" ")[0]
            return (whole if len(whole) > place / 2 else text[:place]).rstrip() + GAP
    return text


def truncate_contexts(passages: Sequence[Passage], tokens: int) -> list[str]:
    """Show passages, best first, each on a harmless line, until the budget is spent; the last one is cut."""
    return list(_fit(passages, tokens))


def _fit(passages: Sequence[Passage], tokens: float) -> Iterator[str]:
    for passage in passages:
        text = clean(f"{passage.title}: {passage.text}" if passage.title else passage.text)
        size = estimate_tokens(text)
        if size > tokens:
            if tokens > estimate_tokens(GAP):
                yield truncate_text(text, tokens)
            return
        yield text
        tokens -= size
