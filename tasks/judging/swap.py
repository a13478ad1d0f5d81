"""Comparing two things both ways round, so that the place where one stands cannot decide."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from tasks.models.ask import Answer
from tasks.scoring.statistics import compare_outcomes

Place = Literal["first", "second", "tie"]
"""What a judge says of two things in the order in which it was shown them."""
Outcome = Literal["a", "b", "tie", "inconsistent"]
PLACES: tuple[Place, ...] = ("first", "second", "tie")
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class PairwiseVerdict:
    """A judge's word on a against b, asked both ways round."""

    outcome: Outcome | None
    """`inconsistent` where the two orders disagree; None where a reply did not parse."""
    a_first: Place | None
    """What was said when a was shown first, and when b was."""
    b_first: Place | None
    calls: tuple[str, ...]


@dataclass(frozen=True)
class PositionBias:
    """How often the place decided. The three kinds of scored comparisons add up to `n_scored`."""

    n: int
    n_scored: int
    n_consistent: int
    n_first: int
    """Both times the thing that was shown first."""
    n_second: int
    """Both times the thing that was shown second."""
    n_wavering: int
    """A tie one way round, and a winner the other."""
    inconsistent: float | None
    """Share of the scored comparisons, 0 to 1."""
    p_value: float | None
    """McNemar's exact test of n_first against n_second; None where both are 0."""


async def compare_both_ways(
    a: Thing, b: Thing, ask_once: Callable[[Thing, Thing], Awaitable[Answer[Place]]]
) -> PairwiseVerdict:
    """Have two things compared in both orders: there is a verdict only if both agree.

    ask_once: shows its first argument first and gives `first`, `second` or `tie`; see `PLACES`.
    """
    there, back = await asyncio.gather(ask_once(a, b), ask_once(b, a))
    return PairwiseVerdict(
        combine_orders(there.value, back.value), there.value, back.value, (there.call, back.call)
    )


def combine_orders(a_first: Place | None, b_first: Place | None) -> Outcome | None:
    """Put the two words together."""
    if a_first is None or b_first is None:
        return None
    outcomes: dict[tuple[Place, Place], Outcome] = {
        ("first", "second"): "a",
        ("second", "first"): "b",
        ("tie", "tie"): "tie",
    }
    return outcomes.get((a_first, b_first), "inconsistent")


def count_bias(comparisons: Iterable[PairwiseVerdict]) -> PositionBias:
    """Count how often a judge went by the place."""
    every = list(comparisons)
    scored = [verdict for verdict in every if verdict.outcome is not None]
    split = [verdict for verdict in scored if verdict.outcome == "inconsistent"]
    test = compare_outcomes(
        [verdict.a_first == verdict.b_first == "first" for verdict in split],
        [verdict.a_first == verdict.b_first == "second" for verdict in split],
    )
    first, second = test.only_a, test.only_b
    return PositionBias(
        n=len(every),
        n_scored=len(scored),
        n_consistent=len(scored) - len(split),
        n_first=first,
        n_second=second,
        n_wavering=len(split) - first - second,
        inconsistent=len(split) / len(scored) if scored else None,
        p_value=test.p_value if first + second else None,
    )
