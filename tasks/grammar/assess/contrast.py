"""Compare two linguistic criteria: differences of rates, and the module they are attributed to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from tasks.grammar.assess.judged import (
    ATTRIBUTIONS,
    GAP,
    MODULES,
    RULES,
    SUFFICIENCY,
    Mode,
    TaggedRow,
)
from tasks.scoring.metric import FloatArray, count_kinds, divide
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import LEAST, correct_holm, describe_difference, draw_weights, number_clusters

NONE_SHOWN = "none shown"
ACCURACY = "accuracy"
ALPHA, POWER = 0.05, 0.8
Place = tuple[str, Mode]
"""A set of rows, and a mode."""


@dataclass(frozen=True)
class Contrast:
    """A rate under criteria A and B, each 0 to 1; None if the rate is undefined.

    difference: a - b. low, high: its 95% interval by a bootstrap that draws whole clusters. error: standard
    deviation of the drawn differences. p_value: two-sided, twice the smaller share of draws on either side of
    zero, and no less than turning the signs of so many clusters could give. p_holm: the same after Holm over
    all that was tested by the same kind of rule; None where nothing is concluded from it. n_a, n_b: the
    rates' denominators, in rows. clusters: those with a row in either denominator. Fewer than LEAST have no
    interval, error or p; an interval without a width is none.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    error: float | None
    p_value: float | None
    n_a: int
    n_b: int
    p_holm: float | None = None
    clusters: int = 0

    @property
    def is_shown(self) -> bool:
        """Return whether the difference holds after Holm."""
        return self.p_holm is not None and self.p_holm <= ALPHA


@dataclass(frozen=True)
class RuleFault:
    """The module at fault by one rule of attribution.

    module: None if it cannot be told. shown: all modules whose share differs, sorted. why: the reason.
    """

    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class CriteriaTest:
    """Criterion A compared with B over one set of rows, in one mode.

    rates: by name, see `compare_criteria`. fault: by rule of attribution. clusters: number of those drawn.
    detectable: the least difference of the accuracies, 0 to 1, that so many rows show in four of five
    samples; None if it cannot be told.
    """

    rates: Mapping[str, Contrast]
    fault: Mapping[str, RuleFault]
    clusters: int
    detectable: float | None


def contrast_parts(
    parts: Mapping[Place, Sequence[TaggedRow]], a: str, b: str, intervals: Bootstrap
) -> dict[Place, CriteriaTest]:
    """Compare criteria A and B in each part, and name the modules at fault.

    parts: (set, mode) -> its tagged rows. What is tested by sufficiency, over all parts, is one family
    for Holm's correction; what is tested by the paper's rules, over all of these and all parts, another.
    """
    found = {place: compare_criteria(rows, a, b, intervals) for place, rows in parts.items()}
    families = {rule: (SUFFICIENCY,) if rule == SUFFICIENCY else RULES for rule in ATTRIBUTIONS}
    corrected = {rules: _correct(found, rules) for rules in dict.fromkeys(families.values())}
    tests: dict[Place, CriteriaTest] = {}
    for place, rows in parts.items():
        clusters = len({row.judged.cluster for row in rows if row.judged.criterion in (a, b)})
        own = {rule: corrected[family][place] for rule, family in families.items()}
        reach = _find_detectable(found[place])
        faults = {rule: name_fault(own[rule], rule, reach, clusters) for rule in own}
        rates = {
            name: own[_read_rule(name) or SUFFICIENCY].get(name, rate) for name, rate in found[place].items()
        }
        tests[place] = CriteriaTest(rates, faults, clusters, reach)
    return tests


def compare_criteria(
    tagged: Sequence[TaggedRow], a: str, b: str, intervals: Bootstrap
) -> dict[str, Contrast]:
    """Compare rates under two criteria by a bootstrap over clusters: SQL templates, where they are known.

    tagged: rows of one set, tagged over both criteria together, so that a gap is a mutual gap: a group
    without a correct text under either. a, b: the criteria. Returns the rates by name, nothing if there are
    no rows of either criterion:

    - accuracy; robustness: correct rows / rows outside of mutual gaps;
    - context.<rule>: share of rows with sufficient context, outside of mutual gaps;
    - module.<rule>.<module>: share of rows that are wrong and attributed to the module. Summed over the
      modules, the differences b - a of these shares give the difference a - b of the accuracy.

    A rule is left out if it cannot decide for every row.
    """
    rows = [row for row in tagged if row.judged.criterion in (a, b)]
    if not rows:
        return {}
    cluster = number_clusters(row.judged.cluster for row in rows)
    first = np.array([row.judged.criterion == a for row in rows])
    rates = _name_rates(rows)
    columns = [
        np.bincount(cluster, weights=marks * side)
        for over, under in rates.values()
        for side in (first, ~first)
        for marks in (over, under)
    ]
    kinds, counts = count_kinds(np.column_stack(columns))
    whole = _subtract(counts[np.newaxis].astype(np.float64) @ kinds)
    drawing = draw_weights(counts, intervals.draws, np.random.default_rng(intervals.seed))
    drawn = np.concatenate([_subtract(weights @ kinds) for weights in drawing])
    sizes = (counts @ kinds).reshape(len(rates), 4)
    denominators = kinds.reshape(-1, len(rates), 4)[..., [1, 3]]
    own = counts @ (denominators.sum(axis=2) > 0)
    return {
        name: _make_contrast(whole[0, n], drawn[:, n, 2], sizes[n], int(own[n]))
        for n, name in enumerate(rates)
    }


def name_fault(
    contrasts: Mapping[str, Contrast], rule: str, detectable: float | None, clusters: int
) -> RuleFault:
    """Name the module that a difference in accuracy is attributed to, by one rule.

    contrasts: with `p_holm`. A module is named only where the accuracies differ (p at most ALPHA) and the
    module's own shares do after Holm's correction; of several, the one that adds most to the difference. Else
    the module is `NONE_SHOWN`. detectable, clusters: told with it.
    """
    shares = {module: contrasts.get(f"module.{rule}.{module}") for module in _list_modules(rule)}
    if not contrasts or any(share is None for share in shares.values()):
        return RuleFault(None, (), "for some answers it is not known whether the context was sufficient")
    shown = {module: share for module, share in shares.items() if share is not None and share.is_shown}
    names = tuple(sorted(shown))
    accuracy = contrasts[ACCURACY]
    if accuracy.p_value is None or accuracy.p_value > ALPHA:
        limit = (
            ""
            if detectable is None
            else f"; with {clusters} templates, the test can detect a difference of {detectable:.2f}"
        )
        return RuleFault(NONE_SHOWN, names, f"the accuracies do not differ significantly{limit}")
    # A module that fails more often under b adds to a's lead; one that pulls the other way explains nothing.
    sign = 1 if (accuracy.difference or 0.0) >= 0 else -1
    adding = [(-(share.difference or 0.0) * sign, module) for module, share in shown.items()]
    best = max((pair for pair in adding if pair[0] > 0), default=None)
    if best is None:
        return RuleFault(
            NONE_SHOWN,
            names,
            "the accuracies differ significantly, but no module's share of wrong answers does",
        )
    return RuleFault(
        best[1],
        names,
        "the accuracies differ significantly, and so does the module's share of wrong answers "
        "(after Holm's correction)",
    )


def _list_modules(rule: str) -> Sequence[str]:
    return MODULES if rule == SUFFICIENCY else MODULES[:3]


def _read_rule(name: str) -> str:
    """Return the rule that a rate is of; empty for those of no rule."""
    return name.split(".")[1] if "." in name else ""


def _is_tested(name: str, rules: Iterable[str]) -> bool:
    return name == ACCURACY or (name.startswith("module.") and _read_rule(name) in rules)


def _correct(
    found: Mapping[Place, Mapping[str, Contrast]], rules: Sequence[str]
) -> dict[Place, dict[str, Contrast]]:
    """Correct the p values of one family; return its rates alone, by place."""
    tested = [
        (place, name, rate.p_value)
        for place, rates in found.items()
        for name, rate in rates.items()
        if _is_tested(name, rules) and rate.p_value is not None
    ]
    adjusted = correct_holm([p_value for _, _, p_value in tested])
    own: dict[Place, dict[str, Contrast]] = {
        place: {name: rate for name, rate in rates.items() if _is_tested(name, rules)}
        for place, rates in found.items()
    }
    for (place, name, _), p_holm in zip(tested, adjusted, strict=True):
        own[place][name] = replace(own[place][name], p_holm=p_holm)
    return own


def _find_detectable(rates: Mapping[str, Contrast]) -> float | None:
    """Return the least difference of the accuracies that is shown with a power of 0.8."""
    error = rates[ACCURACY].error if ACCURACY in rates else None
    if not error:
        return None
    normal = NormalDist()
    reach = (normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)) * error
    return min(reach, 1.0)


def _name_rates(rows: Sequence[TaggedRow]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return each rate's numerator and denominator as indicators, each of shape (rows,)."""
    every = np.ones(len(rows))
    correct = np.array([row.correct for row in rows], dtype=np.float64)
    kept = np.array([row.tag != GAP for row in rows], dtype=np.float64)
    rates = {ACCURACY: (correct, every), "robustness": (correct, kept)}
    for rule in ATTRIBUTIONS:
        modules = [row.find_module(rule) for row in rows]
        enough = [row.sufficient.get(rule) for row in rows]
        unknown = None in enough if rule in RULES else _lacks_module(rows, modules)
        if unknown:
            continue
        if rule in RULES:
            rates[f"context.{rule}"] = (np.array(enough, dtype=np.float64) * kept, kept)
        for module in _list_modules(rule):
            marks = np.array([lost_by == module for lost_by in modules], dtype=np.float64)
            rates[f"module.{rule}.{module}"] = (marks, every)
    return rates


def _lacks_module(rows: Sequence[TaggedRow], modules: Sequence[str | None]) -> bool:
    return any(module is None and not row.correct for row, module in zip(rows, modules, strict=True))


def _subtract(sums: FloatArray) -> FloatArray:
    """Convert sums of shape (draws, rates x 4) to (draws, rates, 3): a, b and a - b."""
    parts = sums.reshape(len(sums), -1, 4)
    a, b = divide(parts[..., 0], parts[..., 1]), divide(parts[..., 2], parts[..., 3])
    return np.stack([a, b, a - b], axis=-1)


def _make_contrast(whole: FloatArray, drawn: FloatArray, sizes: FloatArray, clusters: int) -> Contrast:
    a, b, difference = (None if np.isnan(value) else float(value) for value in whole)
    defined, n_a, n_b = drawn[~np.isnan(drawn)], int(sizes[1]), int(sizes[3])
    if difference is None or not len(defined) or clusters < LEAST:
        return Contrast(a, b, difference, None, None, None, None, n_a, n_b, clusters=clusters)
    found = describe_difference(difference, defined, clusters)
    low, high = found.interval or (None, None)
    return Contrast(
        a=a,
        b=b,
        difference=difference,
        low=low,
        high=high,
        error=float(defined.std()),
        p_value=found.p_value,
        n_a=n_a,
        n_b=n_b,
        clusters=clusters,
    )
