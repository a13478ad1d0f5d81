"""Compare two linguistic criteria: differences of rates, and the module they are attributed to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.grammar.assess.judged import GAP, MODULES, RULES, TaggedRow
from tasks.scoring.metric import FloatArray, count_kinds, divide
from tasks.scoring.statistics import draw_weights, find_interval

NONE_SHOWN = "none shown"


@dataclass(frozen=True)
class Contrast:
    """One rate under criteria A and B, each 0 to 1; None if the rate is undefined.

    difference: a - b. low, high: its 95% interval by a bootstrap that resamples whole groups. p_value:
    two-sided, twice the smaller share of draws on either side of zero, never 0. n_a, n_b: the rates'
    denominators, in rows.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    n_a: int
    n_b: int

    @property
    def is_off_zero(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class RuleFault:
    """The module at fault by one context rule.

    module: None if it cannot be determined. shown: all modules whose share differs, sorted. why: the reason.
    """

    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class CriteriaTest:
    """Criterion A compared with B over one set of rows, in one mode.

    rates: by name, see `compare_criteria`. fault: by context rule.
    """

    rates: Mapping[str, Contrast]
    fault: Mapping[str, RuleFault]


def compare_criteria(
    tagged: Sequence[TaggedRow], a: str, b: str, draws: int, seed: int
) -> dict[str, Contrast]:
    """Compare rates under two criteria by a cluster bootstrap over groups.

    tagged: rows of one set, tagged over both criteria together, so that a gap is a mutual gap: a group
    without a correct text under either. a, b: the criteria. draws: number of bootstrap draws. Returns the
    rates by name, nothing if there are no rows of either criterion:

    - accuracy; robustness: correct rows / rows outside of mutual gaps;
    - context.<rule>: share of rows with sufficient context, outside of mutual gaps;
    - module.<rule>.<module>: share of rows that are wrong and attributed to the module. Summed over the
      modules, the differences b - a of these shares give the difference a - b of the accuracy.

    A rule is left out if it cannot decide for every row.
    """
    rows = [row for row in tagged if row.judged.criterion in (a, b)]
    if not rows:
        return {}
    numbers = {group: n for n, group in enumerate(dict.fromkeys(row.judged.group for row in rows))}
    group = np.array([numbers[row.judged.group] for row in rows])
    first = np.array([row.judged.criterion == a for row in rows])
    rates = _name_rates(rows)
    columns = [
        np.bincount(group, weights=marks * side, minlength=len(numbers))
        for over, under in rates.values()
        for side in (first, ~first)
        for marks in (over, under)
    ]
    kinds, counts = count_kinds(np.column_stack(columns))
    whole = _subtract(counts[np.newaxis].astype(np.float64) @ kinds)
    drawn = np.concatenate(
        [_subtract(weights @ kinds) for weights in draw_weights(counts, draws, np.random.default_rng(seed))]
    )
    sizes = (counts @ kinds).reshape(len(rates), 4)
    return {name: _make_contrast(whole[0, n], drawn[:, n, 2], sizes[n]) for n, name in enumerate(rates)}


def name_fault(contrasts: Mapping[str, Contrast], rule: str) -> RuleFault:
    """Name the module that the difference in accuracy is attributed to, by one context rule.

    contrasts: as `compare_criteria` returns them. A module is shown if the interval of its share's
    difference excludes zero. Of these, the one that contributes most to the accuracy's difference is named;
    if none contributes, the module is `NONE_SHOWN`.
    """
    shares = {module: contrasts.get(f"module.{rule}.{module}") for module in MODULES}
    if any(share is None for share in shares.values()):
        return RuleFault(None, (), "whether a row's context was enough is not known for every row")
    differing = {module: share for module, share in shares.items() if share is not None and share.is_off_zero}
    accuracy = contrasts["accuracy"].difference or 0.0
    # A module that fails more often under b adds to a's lead; one that pulls the other way explains nothing.
    adding = [
        (-(share.difference or 0.0) * (1 if accuracy >= 0 else -1), module)
        for module, share in differing.items()
    ]
    best = max((pair for pair in adding if pair[0] > 0), default=None)
    shown = tuple(sorted(differing))
    if best is None:
        return RuleFault(NONE_SHOWN, shown, "no module's share differs with an interval off zero")
    return RuleFault(best[1], shown, "its share of wrong rows differs with an interval off zero")


def _name_rates(rows: Sequence[TaggedRow]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return each rate's numerator and denominator as indicators, each of shape (rows,)."""
    every = np.ones(len(rows))
    correct = np.array([row.correct for row in rows], dtype=np.float64)
    kept = np.array([row.tag != GAP for row in rows], dtype=np.float64)
    rates = {"accuracy": (correct, every), "robustness": (correct, kept)}
    for rule in RULES:
        enough = [row.sufficient[rule] for row in rows]
        if None in enough:
            continue
        rates[f"context.{rule}"] = (np.array(enough, dtype=np.float64) * kept, kept)
        modules = np.array([row.find_module(rule) or "" for row in rows])
        for module in MODULES:
            rates[f"module.{rule}.{module}"] = ((modules == module).astype(np.float64), every)
    return rates


def _subtract(sums: FloatArray) -> FloatArray:
    """Convert sums of shape (draws, rates x 4) to (draws, rates, 3): a, b and a - b."""
    parts = sums.reshape(len(sums), -1, 4)
    a, b = divide(parts[..., 0], parts[..., 1]), divide(parts[..., 2], parts[..., 3])
    return np.stack([a, b, a - b], axis=-1)


def _make_contrast(whole: FloatArray, drawn: FloatArray, sizes: FloatArray) -> Contrast:
    interval = find_interval(drawn)
    low, high = interval or (None, None)
    defined = drawn[~np.isnan(drawn)]
    beyond = min(np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0))
    a, b, difference = (None if np.isnan(value) else float(value) for value in whole)
    p_value = min(1.0, 2 * (beyond + 1) / (len(defined) + 1))
    if difference is None:
        low = high = None
    return Contrast(
        a=a,
        b=b,
        difference=difference,
        low=low,
        high=high,
        p_value=None if difference is None else p_value,
        n_a=int(sizes[1]),
        n_b=int(sizes[3]),
    )
