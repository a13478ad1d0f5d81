"""Compare two linguistic criteria: the differences in rates, and the modules that cause the differences."""

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
"""The value of `RuleFault.module` and `Losses.module` if no module is significantly at fault."""
ACCURACY = "accuracy"
ALPHA, POWER = 0.05, 0.8
"""The significance level of the tests, and the power for which the detectable difference is computed."""
Place = tuple[str, Mode]
"""The name of a set of rows, and a mode."""


@dataclass(frozen=True)
class Contrast:
    """A rate under criteria A and B, from 0 to 1, or None if undefined.

    - `difference` is a - b. `low` and `high` are the bounds of the difference's 95% interval, from a
      bootstrap over whole clusters.
    - `error` is the standard deviation of the bootstrapped differences.
    - `p_value` is two-sided: twice the smaller share of bootstrap differences on either side of zero. The
      value is at least the smallest possible p value of a sign-flip test over `clusters` clusters.
    - `p_holm` is `p_value` after Holm's correction over a family of tests (see `contrast_parts`); None if the
      rate is not tested.
    - `n_a` and `n_b` are the denominators of the rates, in rows.
    - `clusters` is the number of clusters with a row in either denominator.

    With fewer than LEAST clusters, there is no interval, error or p value. Intervals of zero width are not
    reported.
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
        """Return whether the difference is significant after Holm's correction."""
        return self.p_holm is not None and self.p_holm <= ALPHA


@dataclass(frozen=True)
class RuleFault:
    """The module at fault according to one rule of attribution.

    `module` is None if the module is unknown, and NONE_SHOWN if no module is significantly at fault. `shown`
    contains the sorted names of all modules whose share of wrong answers differs significantly between the
    criteria. `why` states the reason for `module`.
    """

    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class CriteriaTest:
    """The comparison of criteria A and B over one set of rows, in one mode.

    `rates` contains the rates under the names in `compare_criteria`. `fault` contains the module at fault, by
    rule of attribution. `clusters` is the number of clusters in the bootstrap. `detectable` is the smallest
    difference in accuracy, 0 to 1, that the test detects with a power of 0.8; None if unknown.
    """

    rates: Mapping[str, Contrast]
    fault: Mapping[str, RuleFault]
    clusters: int
    detectable: float | None


def contrast_parts(
    parts: Mapping[Place, Sequence[TaggedRow]], a: str, b: str, intervals: Bootstrap
) -> dict[Place, CriteriaTest]:
    """Compare criteria A and B in each set and mode, and determine the modules at fault.

    `parts` contains the tagged rows by (set, mode). Holm's correction is applied to two families of tests
    over all sets and modes: the tests by `sufficiency`, and the tests by all of the paper's rules.
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
        # Accuracy is tested in both families. The figures contain the p value from the sufficiency family.
        rates = {
            name: own[_read_rule(name) or SUFFICIENCY].get(name, rate) for name, rate in found[place].items()
        }
        tests[place] = CriteriaTest(rates, faults, clusters, reach)
    return tests


def compare_criteria(
    tagged: Sequence[TaggedRow], a: str, b: str, intervals: Bootstrap
) -> dict[str, Contrast]:
    """Compare rates under two criteria by a bootstrap over clusters (SQL templates, if known).

    `tagged` contains the rows of one set, tagged over both criteria together. Therefore a gap is a mutual
    gap: a group without a correct answer under either criterion. If there are no rows under the two criteria,
    the result is an empty dict. Otherwise, the result contains these rates by name:

    - accuracy: the share of correct rows;
    - robustness: correct rows / rows outside mutual gaps;
    - context.<rule>: the share of rows with sufficient context, outside mutual gaps;
    - module.<rule>.<module>: the share of rows that are wrong because of the module. Over all
      modules, the differences b - a in this share add up to the difference a - b in accuracy.

    Rates by a rule are left out if the rule is undecided for some row.
    """
    rows = [row for row in tagged if row.judged.criterion in (a, b)]
    if not rows:
        return {}
    cluster = number_clusters(row.judged.cluster for row in rows)
    first = np.array([row.judged.criterion == a for row in rows])
    rates = _name_rates(rows)
    # Sums per cluster are enough, because the bootstrap resamples whole clusters.
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
    """Return the module that causes a difference in accuracy, according to one rule of attribution.

    The rates in `contrasts` must have Holm-corrected p values. A module is named only if the difference in
    accuracy is significant (p at most ALPHA). The difference in the module's share of wrong answers must also
    be significant, after Holm's correction. The module must also fail more often under the criterion with the
    lower accuracy. If several modules qualify, the module that contributes most to the difference in accuracy
    is named. If no module qualifies, the result is `NONE_SHOWN`. If the difference in accuracy is not
    significant, the reason states `detectable` and `clusters`.
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
            else f"; with {clusters} templates, the test has 80% power to detect a difference of "
            f"{detectable:.2f}"
        )
        return RuleFault(NONE_SHOWN, names, f"the accuracies do not differ significantly{limit}")
    # A module that fails more often under B adds to A's lead in accuracy. A module that fails more often
    # under A cannot explain that lead.
    sign = 1 if (accuracy.difference or 0.0) >= 0 else -1
    adding = [(-(share.difference or 0.0) * sign, module) for module, share in shown.items()]
    best = max((pair for pair in adding if pair[0] > 0), default=None)
    if best is None:
        return RuleFault(
            NONE_SHOWN,
            names,
            "the accuracies differ significantly, but under the criterion with the lower accuracy, no module "
            "causes a significantly larger share of wrong answers",
        )
    return RuleFault(
        best[1],
        names,
        "the accuracies differ significantly, and so does the share of answers that are wrong because of "
        "this module (after Holm's correction)",
    )


def _list_modules(rule: str) -> Sequence[str]:
    # The paper's rules never name the judge, which is the last module.
    return MODULES if rule == SUFFICIENCY else MODULES[:3]


def _read_rule(name: str) -> str:
    """Return the rule in a rate's name, or an empty string if the rate does not depend on a rule."""
    return name.split(".")[1] if "." in name else ""


def _is_tested(name: str, rules: Iterable[str]) -> bool:
    return name == ACCURACY or (name.startswith("module.") and _read_rule(name) in rules)


def _correct(
    found: Mapping[Place, Mapping[str, Contrast]], rules: Sequence[str]
) -> dict[Place, dict[str, Contrast]]:
    """Return the tested rates of one family with Holm-corrected p values, by set and mode."""
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
    """Return the smallest difference in accuracy that the test detects with a power of 0.8.

    The result is capped at 1. Returns None if the standard error is unknown or zero.
    """
    error = rates[ACCURACY].error if ACCURACY in rates else None
    if not error:
        return None
    normal = NormalDist()
    reach = (normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)) * error
    return min(reach, 1.0)


def _name_rates(rows: Sequence[TaggedRow]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Map each rate to its numerator and denominator, two arrays of 0 and 1 with shape (rows,)."""
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
    """Convert sums to rates under criteria A and B, and their differences.

    `sums` has the shape (draws, rates x 4). The four sums of a rate are its numerator and denominator under
    A, and then under B. The result has the shape (draws, rates, 3): a, b and a - b.
    """
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
