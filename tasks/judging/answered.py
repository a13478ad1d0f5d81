"""Define scored answers with their system, question and reply. Comparisons pair answers by question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scored:
    """The score of an item.

    value: the score; higher is better. None if the item could not be scored.
    """

    id: str
    group: str
    """The group of the item: the bootstrap resamples whole groups."""
    value: float | None


@dataclass(frozen=True)
class Answered:
    """The answer of a `Scored` row. Each module that scores answers has a function `list_answered`.

    - id: the id of the `Scored` row.
    - case: the id of the question that all systems are asked; scores of two systems are paired by case.
    - system: the system that answered; empty if the entry already names the system.
    - metric: the name of the score.
    - answer: the system's answer, unchanged, or the reason why there is no answer.
    - note: the judge's comment.
    - further: other scores of the same answer, by metric. Higher is better; None means unscored.
    - tags: names of the slices that the item belongs to.
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
