"""Repeated judging: ask the same question several times and take the majority answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tasks.models.ask import Answer

V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True)
class Majority(Generic[V]):
    """The majority of several answers to one question."""

    value: V | None
    """The most frequent answer; None on a tie, or if fewer than half of the replies parsed."""
    agreement: float | None
    """Share of the most frequent answer among the parsed ones, 0 to 1; None if none parsed."""
    n: int
    n_parsed: int
    calls: tuple[str, ...]
    """Ledger keys, in the order of the samples."""
    problem: str = ""
    """Why `value` is None."""


async def judge_often(ask_once: Callable[[int], Awaitable[Answer[V]]], repeats: int) -> Majority[V]:
    """Ask `repeats` times and take the majority.

    ask_once: asks with the given sample number (0, 1, ...). At temperature 0 all samples are the same, so
    repeats are useful only above it. Raises what `ask_once` raises, and ValueError for fewer than one repeat.
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; at least 1 is wanted")
    return count_votes(list(await asyncio.gather(*(ask_once(sample) for sample in range(repeats)))))


def count_votes(answers: list[Answer[V]]) -> Majority[V]:
    """Take the majority of the answers to one question."""
    votes = Counter(answer.value for answer in answers if answer.value is not None)
    n, parsed = len(answers), votes.total()
    calls = tuple(answer.call for answer in answers)
    ranked = votes.most_common(2)
    agreement = ranked[0][1] / parsed if ranked else None
    if 2 * parsed < n or not ranked:
        return Majority(None, agreement, n, parsed, calls, f"unparsed: {n - parsed} of {n} replies")
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return Majority(None, agreement, n, parsed, calls, f"tie: {ranked[0][1]} of {parsed} each")
    return Majority(ranked[0][0], agreement, n, parsed, calls)
