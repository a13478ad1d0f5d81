"""Pairwise comparison in both orders, so that a judge's position bias cannot decide."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from tasks.models.ask import Answer
from tasks.scoring.statistics import compare_outcomes

Place = Literal["first", "second", "tie"]
"""A judge's verdict on two candidates in the order in which they were shown."""
Outcome = Literal["a", "b", "tie", "inconsistent"]
PLACES: tuple[Place, ...] = ("first", "second", "tie")
Candidate = TypeVar("Candidate")


@dataclass(frozen=True)
class PairwiseVerdict:
    """A judge's verdict on a against b, asked in both orders."""

    outcome: Outcome | None
    """`inconsistent` if the two orders disagree; None if a reply did not parse."""
    a_first: Place | None
    """The verdict with a shown first."""
    b_first: Place | None
    """The verdict with b shown first."""
    calls: tuple[str, ...]


@dataclass(frozen=True)
class PositionBias:
    """How often the position decided. n_scored = n_consistent + n_first + n_second + n_wavering."""

    n: int
    n_scored: int
    n_consistent: int
    n_first: int
    """The candidate shown first won in both orders."""
    n_second: int
    """The candidate shown second won in both orders."""
    n_wavering: int
    """A tie in one order and a winner in the other."""
    inconsistent: float | None
    """Share of inconsistent ones among the scored comparisons, 0 to 1; None if none was scored."""
    p_value: float | None
    """McNemar's exact test of n_first against n_second; None if both are 0."""


async def compare_both_ways(
    a: Candidate, b: Candidate, ask_once: Callable[[Candidate, Candidate], Awaitable[Answer[Place]]]
) -> PairwiseVerdict:
    """Compare two candidates in both orders; a winner needs both to agree.

    ask_once: shows its first argument first and returns one of `PLACES`. Raises what it raises.
    """
    a_first, b_first = await asyncio.gather(ask_once(a, b), ask_once(b, a))
    return PairwiseVerdict(
        combine_orders(a_first.value, b_first.value),
        a_first.value,
        b_first.value,
        (a_first.call, b_first.call),
    )


def combine_orders(a_first: Place | None, b_first: Place | None) -> Outcome | None:
    """Combine the verdicts of both orders; None if one of them is missing."""
    if a_first is None or b_first is None:
        return None
    outcomes: dict[tuple[Place, Place], Outcome] = {
        ("first", "second"): "a",
        ("second", "first"): "b",
        ("tie", "tie"): "tie",
    }
    return outcomes.get((a_first, b_first), "inconsistent")


def count_bias(comparisons: Iterable[PairwiseVerdict]) -> PositionBias:
    """Count how often a judge's verdict followed the position instead of the candidate."""
    verdicts = list(comparisons)
    scored = [verdict for verdict in verdicts if verdict.outcome is not None]
    split = [verdict for verdict in scored if verdict.outcome == "inconsistent"]
    test = compare_outcomes(
        [verdict.a_first == verdict.b_first == "first" for verdict in split],
        [verdict.a_first == verdict.b_first == "second" for verdict in split],
    )
    first, second = test.only_a, test.only_b
    return PositionBias(
        n=len(verdicts),
        n_scored=len(scored),
        n_consistent=len(scored) - len(split),
        n_first=first,
        n_second=second,
        n_wavering=len(split) - first - second,
        inconsistent=len(split) / len(scored) if scored else None,
        p_value=test.p_value if first + second else None,
    )
