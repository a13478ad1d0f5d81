"""What each compared system reached over the items that all of them scored, and what an answer cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.scoring.statistics import Interval


@dataclass(frozen=True)
class AnswerCost:
    """What the model calls of a system took, per answer. None, and why, where that is not known.

    tokens: of prompts and replies. usd: by `run.prices`, in US dollars. seconds: the median over answers of
    the time that the calls of an answer took, one after the other.
    """

    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None
    why: str = ""


@dataclass(frozen=True)
class PricedMean:
    """A system's mean by one metric. interval: 95%; None, and why."""

    system: str
    mean: float
    interval: Interval | None
    why: str
    cost: AnswerCost


@dataclass(frozen=True)
class PricedMetric:
    """Systems by one metric over the items that all of them scored. left_out: further items of any system."""

    section: str
    metric: str
    n_items: int
    left_out: int
    systems: Sequence[PricedMean]
