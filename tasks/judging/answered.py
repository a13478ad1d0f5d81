"""Scored answers with their system, question and reply, from which comparisons pair scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scored:
    """An item's score. value: higher is better; None if it could not be scored."""

    id: str
    group: str
    """The bootstrap resamples whole groups of items."""
    value: float | None


@dataclass(frozen=True)
class Answered:
    """The answer that a `Scored` row is of; the module of a scope's `evaluates` lists them (`list_answered`).

    id: of the `Scored` row. case: what all systems are asked alike: scores of two systems are paired by it.
    system: who answered; empty if the entry names it. metric: what the score is. further: metric -> further
    scores of the same answer, higher is better, None if unscored. answer: as given, or why there is none.
    note: what the judge said. tags: names of the slices that the item belongs to.
    """

    id: str
    case: str
    system: str
    metric: str
    question: str
    reference: str
    answer: str
    note: str = ""
    further: Mapping[str, float | None] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
