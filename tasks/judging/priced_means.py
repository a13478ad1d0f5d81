"""Define systems' mean scores on the same items, with the cost of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.scoring.statistics import Interval


@dataclass(frozen=True)
class AnswerCost:
    """The cost of a system's model calls per answer. If a value is None, `why` gives the reason.

    - tokens: number of tokens in prompts and replies.
    - usd: price in US dollars, from `run.prices`.
    - seconds: the median duration of an answer. An answer's duration is the total duration of its calls.
    """

    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None
    why: str = ""


@dataclass(frozen=True)
class PricedMean:
    """A system's mean for one metric. interval: the 95% interval; if None, `why` gives the reason."""

    system: str
    mean: float
    interval: Interval | None
    why: str
    cost: AnswerCost


@dataclass(frozen=True)
class PricedMetric:
    """Systems' means for one metric over the items that have a score from every system.

    left_out: number of items without a score from every system.
    """

    section: str
    metric: str
    n_items: int
    left_out: int
    systems: Sequence[PricedMean]
