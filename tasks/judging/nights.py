"""Two nights of one system compared in pairs: what fell, what rose, and whether that is a real drop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.judging.scored import Scored
from tasks.scoring.statistics import compare_paired


class AlarmRule(BaseModel):
    """When a night is a real drop."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    drop: float = Field(default=0.02, ge=0)
    """The least fall of the mean, in the score's own units."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """The paired bootstrap's two-sided p value must lie below."""
    unscored: float = Field(default=0.2, ge=0, le=1)
    """The largest share of items that may be left unscored; beyond it a night says nothing, and alarms."""
    draws: int = Field(default=10_000, ge=100)
    seed: int = 0


@dataclass(frozen=True)
class Change:
    """A night against an earlier one, over the items that are scored in both.

    difference: mean now minus mean then, with its 95% interval and p value by a bootstrap that draws whole
    groups; None where no item is scored in both. fallen, risen: ids, sorted.
    """

    n: int
    n_scored: int
    n_pairs: int
    mean: float | None
    """Of this night, over all that it scored."""
    before: float | None
    """Of the earlier night, over the pairs; `now` is this night's over the same."""
    now: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    fallen: tuple[str, ...]
    risen: tuple[str, ...]
    alarms: tuple[str, ...]
    """Why the night is no good, in sentences; empty where it is accepted."""


@dataclass(frozen=True)
class Night:
    """One assessment in one night, beside the accepted night that it was compared with."""

    label: str
    assessment: str
    against: str | None
    accepted: bool
    change: Change


def compare_nights(earlier: Iterable[Scored], night: Iterable[Scored], rule: AlarmRule) -> Change:
    """Compare a night with an earlier one. Without an earlier one nothing is paired, and nothing fell."""
    then = {item.id: item.value for item in earlier if item.value is not None}
    items = sorted(night, key=lambda item: item.id)
    scored = [(item, item.value) for item in items if item.value is not None]
    pairs = [(item.id, item.group, value, then[item.id]) for item, value in scored if item.id in then]
    alarms = []
    unscored = len(items) - len(scored)
    if not items or unscored > rule.unscored * len(items):
        alarms.append(f"{unscored} of {len(items)} items could not be scored, more than {rule.unscored:.0%}")
    mean = sum(value for _, value in scored) / len(scored) if scored else None
    if not pairs:
        if then:
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
