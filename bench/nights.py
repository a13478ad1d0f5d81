"""Simulate nightly runs on subsets of items with synthetic histories: `python -m bench.nights [HISTORIES]`.

Each history has seven initial nights with all items, then 84 nights of one system. From the 57th night on,
the system is worse by 10 points. Two rules see the same scores. With the first rule, every night evaluates
all items and is compared with the last accepted night. With the second rule, nights evaluate a subset chosen
by `tasks.judging.night_subset` with the default settings. The script prints the share of calls, false alarms,
and how often the drop is found.

Calls (one per answer) are counted from the eighth night until the drop is found or the history ends: for
subsets, scheduled nights with all items, and additional items near an alarm.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.made_histories import Histories, ItemShape
from tasks.judging.night_subset import (
    STEPS,
    BoolArray,
    NightSubset,
    check_part,
    count_part,
    estimate_change,
    expect_scores,
    find_chances,
    find_fall_chance,
    order_items,
    weigh_items,
    weigh_parts,
)
from tasks.judging.nights import AlarmRule
from tasks.scoring.metric import FloatArray
from tasks.scoring.statistics import draw_weights

STEADY, WORSE = 56, 28
"""Numbers of nights before the drop, and from the drop on."""
DROP = 0.1
DRAWS = 1000
HISTORIES = 1000
BATCH = 500
"""Number of histories simulated at once, limited by memory."""
METRICS = ("accuracy",)
WITHIN = (1, 3, 7, 28)
"""Maximum number of nights, including the night of the drop, for a drop to count as found."""
HEAD = (
    "items",
    "calls",
    "before the drop",
    "alarms, whole",
    "alarms, parts",
    "found, whole",
    "found, parts",
    "within 3 nights",
    "within 7",
    "within 28",
    "error of a part",
    "stated",
)
SHAPES = (ItemShape(60, 4), ItemShape(80, 6), ItemShape(120, 8))


class PairedRule:
    """The alarm of a night: the mean fell by `drop`, and the bootstrap over templates has p below `alpha`."""

    def __init__(self, shape: ItemShape, rule: AlarmRule) -> None:
        """Draw the bootstrap samples of templates for all comparisons."""
        self.shape, self.rule = shape, rule
        counts = np.ones(shape.templates, dtype=np.int64)
        self.draws = np.concatenate(list(draw_weights(counts, DRAWS, np.random.default_rng(rule.seed))))

    def find_alarms(self, now: FloatArray, before: FloatArray, part: BoolArray | None = None) -> BoolArray:
        """Return which histories have an alarm. part: the items to compare, shape (histories, items)."""
        used = np.ones(now.shape) if part is None else part.astype(np.float64)
        sums, sizes = (self._sum_templates(values) for values in ((now - before) * used, used))
        change = sums.sum(1) / sizes.sum(1)
        drawn = (sums @ self.draws.T) / np.maximum(sizes @ self.draws.T, 1)
        beyond = np.minimum((drawn <= 0).sum(1), (drawn >= 0).sum(1))
        p_value = np.maximum(2 * (beyond + 1) / (DRAWS + 1), 2.0 ** (1 - (sizes > 0).sum(1)))
        alarms: BoolArray = (-change >= self.rule.drop) & (p_value < self.rule.alpha)
        return alarms

    def _sum_templates(self, values: FloatArray) -> FloatArray:
        summed: FloatArray = values.reshape(len(values), self.shape.templates, -1).sum(2)
        return summed


class WholeNights:
    """Nights that evaluate all items, and are compared with the last accepted night."""

    def __init__(self, past: FloatArray, rule: PairedRule) -> None:
        """Begin after past whole nights, shape (histories, nights, items)."""
        self.rule, self.before = rule, past[:, -1]

    def run_night(self, scores: FloatArray) -> BoolArray:
        """Run a night of all histories; return which histories have an alarm."""
        alarms = self.rule.find_alarms(scores, self.before)
        self.before = np.where(alarms[:, None], self.before, scores)
        return alarms


class CheapNights:
    """Nights that evaluate a subset, or all items near an alarm and after `every` nights."""

    def __init__(self, past: FloatArray, rule: PairedRule, subset: NightSubset) -> None:
        """Begin after past whole nights, shape (histories, nights, items)."""
        self.rule, self.subset, self.past = rule, subset, past.copy()
        shape = rule.shape
        names = [str(item) for item in range(shape.items)]
        self.order = order_items(names, [(str(template),) for template in shape.clusters], subset.seed)
        self.number = count_part(shape.items, subset.share)
        self.since = np.zeros(len(past), dtype=np.int64)
        self.chances, self.expected = np.zeros((2, len(past), shape.items))
        self.spread, self.error = np.zeros((2, len(past)))
        self._choose(np.ones(len(past), dtype=np.bool_))

    def run_night(self, scores: FloatArray) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Run a night; return alarms, numbers of evaluated items, and errors of the estimated mean change."""
        before, whole = self.past[:, -1], self.since + 1 >= self.subset.every
        asked, doubt = np.zeros(scores.shape, dtype=np.bool_), ~whole
        missed = np.full(len(scores), np.nan)
        for parts, factor in STEPS.items():
            weights = self._weigh(parts)
            asked |= doubt[:, None] & (weights > 0)
            change = estimate_change(scores, self.expected, weights)
            if parts == 1:
                missed = change - (scores - self.expected).mean(1)
            chance = find_fall_chance(change, self.spread / np.sqrt(parts))
            near = (chance < factor * self.subset.near) & (-change >= self.rule.rule.drop)
            doubt &= near | self.rule.find_alarms(scores, before, weights > 0)
        whole |= doubt
        alarms = whole & self.rule.find_alarms(scores, before)
        self._accept(scores, whole & ~alarms)
        called = np.where(whole, scores.shape[1], asked.sum(1)).astype(np.float64)
        return alarms, called, missed

    def _weigh(self, parts: int) -> FloatArray:
        weights = np.zeros_like(self.chances)
        for since in np.unique(self.since):
            rows = self.since == since
            weights[rows] = weigh_parts(self.chances[rows], self.order, int(since), parts, self.subset.seed)
        return weights

    def _accept(self, scores: FloatArray, accepted: BoolArray) -> None:
        self.since = np.where(accepted, 0, self.since + 1)
        kept = np.concatenate([self.past[accepted, 1:], scores[accepted, None]], axis=1)
        self.past[accepted] = kept
        self._choose(accepted)

    def _choose(self, rows: BoolArray) -> None:
        """Choose subsets of items from the past nights with all items, for some histories."""
        if not rows.any():
            return
        past = self.past[rows][:, None]
        self.chances[rows] = find_chances(weigh_items(past, METRICS), self.number)
        self.expected[rows] = expect_scores(past)[:, 0]
        found = check_part(past, METRICS, self.order, self.subset.share, self.subset.seed)
        self.spread[rows], self.error[rows] = found.spread[:, 0], found.error[:, 0]


@dataclass(frozen=True)
class NightTally:
    """The results of two rules in simulated histories: all items every night, and subsets.

    false: alarms in the nights before the drop; shape (rules, histories). found: nights from the drop to the
    alarm, infinite without an alarm; shape (rules, histories). called: items evaluated until the alarm in all
    histories. steady: items evaluated before the drop. nights: number of nights until the alarm. error: mean
    square of a subset's estimate minus the true change. stated: mean square of the estimate's stated error.
    """

    false: FloatArray
    found: FloatArray
    called: float
    steady: float
    nights: float
    error: float
    stated: float


def simulate(shape: ItemShape, number: int, rng: np.random.Generator, subset: NightSubset) -> NightTally:
    """Simulate `number` histories of one shape."""
    histories, rule = Histories(shape, number, rng), PairedRule(shape, AlarmRule())
    past = np.stack([histories.score_night() for _ in range(subset.nights)], axis=1)
    every, cheap = WholeNights(past, rule), CheapNights(past, rule, subset)
    false, found = np.zeros((2, number)), np.full((2, number), np.inf)
    called = steady = nights = 0.0
    errors, stated = [], []
    for night in range(STEADY + WORSE):
        if night == STEADY:
            histories.drop(DROP)
        scores, is_open, error = histories.score_night(), np.isinf(found[1]), cheap.error
        alarms, asked, off = cheap.run_night(scores)
        called += float(asked[is_open].sum())
        nights += float(is_open.sum())
        both = np.stack([every.run_night(scores), alarms])
        if night >= STEADY:
            found = np.minimum(found, np.where(both, night - STEADY, np.inf))
            continue
        false += both
        steady += float(asked.sum())
        errors.append(np.nanmean(off**2))
        stated.append(np.mean(error**2))
    means = (float(np.mean(errors)), float(np.mean(stated)))
    return NightTally(false, found, called, steady, nights, *means)


def describe(shape: ItemShape, tallies: Sequence[NightTally]) -> str:
    """Format the results for a shape as a row of the table."""
    false = np.concatenate([tally.false for tally in tallies], axis=1).mean(1) / STEADY
    found = np.concatenate([tally.found for tally in tallies], axis=1)
    number = found.shape[1]
    called = sum(tally.called for tally in tallies) / sum(tally.nights for tally in tallies) / shape.items
    steady = sum(tally.steady for tally in tallies) / (number * STEADY * shape.items)
    whole = (found[0] == 0).mean()
    shares = [(found[1] < nights).mean() for nights in WITHIN]
    told = [f"{share:.1%} ({share / whole:.0%})" for share in shares]
    error, stated = (
        float(np.sqrt(np.mean([getattr(tally, name) for tally in tallies]))) for name in ("error", "stated")
    )
    cells = (
        f"{shape.items}",
        *(f"{share:.1%}" for share in (called, steady, *false, whole)),
        *told,
        f"{error:.3f}",
        f"{stated:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def main(number: int = HISTORIES) -> None:
    """Simulate `number` histories of every shape, and print one row of the table per shape."""
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for shape in SHAPES:
        rng = np.random.default_rng(0)
        sizes = [min(BATCH, number - begun) for begun in range(0, number, BATCH)]
        print(describe(shape, [simulate(shape, size, rng, NightSubset()) for size in sizes]), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
