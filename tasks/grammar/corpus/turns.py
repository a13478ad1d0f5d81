"""Let kinds take turns in an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def take_turns(items: Sequence[Item], kind: Callable[[Item], object]) -> list[Item]:
    """Reorder items so that their kinds take turns; within a turn, and of one kind, the order stays."""
    counts: Counter[object] = Counter()
    turns = []
    for item in items:
        turns.append(counts[kind(item)])
        counts[kind(item)] += 1
    return [item for _, item in sorted(zip(turns, items, strict=True), key=lambda pair: pair[0])]
