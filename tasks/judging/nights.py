"""Compare two nightly evaluations of one system item by item, and decide whether the score really dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.judging.scored import Scored
from tasks.scoring.statistics import compare_paired


class AlarmRule(BaseModel):
    """When a night raises an alarm."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    drop: float = Field(default=0.02, ge=0)
    """The smallest drop of the mean that raises an alarm, in units of the score."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Significance level: the paired bootstrap's two-sided p value must be below it."""
    unscored: float = Field(default=0.2, ge=0, le=1)
    """The largest allowed share of unscored items; more of them raise an alarm."""
    draws: int = Field(default=10_000, ge=100)
    seed: int = 0


@dataclass(frozen=True)
class Change:
    """A night compared with an earlier one on the items that both scored (pairs).

    difference: mean of this night minus mean of the earlier one, with 95% interval and p value by a bootstrap
    over groups; None without pairs. fallen, risen: ids of items whose score changed, sorted.
    """

    n: int
    n_scored: int
    n_pairs: int
    mean: float | None
    """Mean of this night over all items that it scored."""
    before: float | None
    """Mean of the earlier night over the pairs; `now` is this night's over the same pairs."""
    now: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    fallen: tuple[str, ...]
    risen: tuple[str, ...]
    alarms: tuple[str, ...]
    """The reasons for an alarm, one sentence each; empty if there is none."""


@dataclass(frozen=True)
class Night:
    """One assessment in one night. against: the label of the accepted night it was compared with, if any."""

    label: str
    assessment: str
    against: str | None
    accepted: bool
    change: Change


def compare_nights(earlier: Iterable[Scored], night: Iterable[Scored], rule: AlarmRule) -> Change:
    """Compare a night with an earlier one by an alarm rule. earlier: empty if there is none."""
    earlier_scores = {item.id: item.value for item in earlier if item.value is not None}
    items = sorted(night, key=lambda item: item.id)
    scored = [(item, item.value) for item in items if item.value is not None]
    pairs = [
        (item.id, item.group, value, earlier_scores[item.id])
        for item, value in scored
        if item.id in earlier_scores
    ]
    alarms = []
    unscored = len(items) - len(scored)
    if not items or unscored > rule.unscored * len(items):
        alarms.append(f"{unscored} of {len(items)} items could not be scored, more than {rule.unscored:.0%}")
    mean = sum(value for _, value in scored) / len(scored) if scored else None
    if not pairs:
        if earlier_scores:
            alarms.append("no item is scored in this night and in the one it is compared with")
        nothing = (None, None, None, None, None, None)
        return Change(len(items), len(scored), 0, mean, *nothing, (), (), tuple(alarms))
    now, before = [pair[2] for pair in pairs], [pair[3] for pair in pairs]
    found = compare_paired(now, before, [pair[1] for pair in pairs], rule.draws, rule.seed)
    if -found.difference >= rule.drop and found.difference < 0 and found.p_value < rule.alpha:
        alarms.append(
            f"the mean fell by {-found.difference:.3f} over {len(pairs)} items "
            f"(95% interval {found.low:.3f} to {found.high:.3f}, p = {found.p_value:.4f})"
        )
    return Change(
        len(items),
        len(scored),
        len(pairs),
        mean,
        sum(before) / len(pairs),
        sum(now) / len(pairs),
        found.difference,
        found.low,
        found.high,
        found.p_value,
        tuple(pair[0] for pair in pairs if pair[2] < pair[3]),
        tuple(pair[0] for pair in pairs if pair[2] > pair[3]),
        tuple(alarms),
    )
