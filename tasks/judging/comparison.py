"""Compare two evaluations item by item, with paired tests per metric, corrected for multiple comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tasks.judging.answered import Answered, Scored
from tasks.judging.item_analysis import ItemAnalysis
from tasks.judging.priced_means import PricedMetric
from tasks.scoring.statistics import (
    LEAST,
    compare_paired,
    correct_holm,
    find_clustered_error,
    find_detectable,
    find_needed,
)

ALPHA = 0.05
"""The default significance level, applied after Holm's correction."""
DISTANCE = 0.05
"""Default difference between means, in metric units, for which the required number of pairs is reported."""
NAMED = 10
"""Maximum number of cases that a warning names."""
FEW = 20
"""Number of clusters below which a bootstrap interval is too narrow."""


class CallFile(NamedTuple):
    """A file of model calls.

    stages: the names of the stages whose calls count; if empty, all calls count.
    """

    path: Path
    stages: tuple[str, ...] = ()


# Compared by identity, because systems are dictionary keys, and a list of answers has no hash.
@dataclass(frozen=True, eq=False)
class ScoredSystem:
    """An answer set: the scored answers of one system in one evaluated entry.

    - section, entry: the section of params.yaml, and the key of the entry.
    - answers: pairs of a score and its answer.
    - calls: files that contain the model calls of these answers only; empty if unknown.
    """

    section: str
    entry: str
    system: str
    answers: Sequence[tuple[Scored, Answered]]
    calls: Sequence[CallFile] = ()

    @property
    def name(self) -> str:
        """The name ENTRY/SYSTEM, or only ENTRY if the system has no name."""
        return f"{self.entry}/{self.system}" if self.system else self.entry

    @cached_property
    def cases(self) -> frozenset[str]:
        """The ids of the cases that the system was asked to answer."""
        return frozenset(answered.case for _, answered in self.answers)


@dataclass(frozen=True)
class EvaluatedRows:
    """The scored answers of an entry, by system. artifact: the file with the scores."""

    artifact: Path
    scored_systems: Sequence[ScoredSystem]


@dataclass(frozen=True)
class MetricChange:
    """The change in a metric from system A to system B, over pairs: cases with a score from both systems.

    - only_a: number of cases that were asked only in A. only_b: number asked only in B.
    - unscored_a: number of common cases without a score in A. unscored_b: number without a score in B.
    - difference: mean of B minus mean of A.
    - low, high: the bounds of the 95% interval of the difference, from a bootstrap over whole clusters.
    - p_value: the p value of the difference, from the same bootstrap.
    - adjusted: the p value, corrected with Holm's method.
    - detectable: the smallest difference that the test finds with 80% power, at the significance level alpha
      divided by the number of comparisons.
    - fell: number of pairs with a lower score in B. rose: number of pairs with a higher score in B.

    The test results are None if there are fewer than LEAST clusters. The bounds low and high are also None if
    all cases changed by the same amount.
    """

    metric: str
    n_pairs: int
    clusters: int
    only_a: int
    only_b: int
    unscored_a: int
    unscored_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    adjusted: float | None
    error: float | None
    """The standard error of the difference, robust to dependence within clusters."""
    detectable: float | None
    needed: int | None
    """Number of pairs required to find a true difference of `Comparison.distance` with 80% power."""
    fell: int
    rose: int


@dataclass(frozen=True)
class ShownAnswer:
    """The answer of system A or B to a case whose score changed.

    scores: the scores of the answer by metric; None for a metric without a score.
    """

    answer: str
    note: str
    scores: Mapping[str, float | None]


@dataclass(frozen=True)
class ChangedCase:
    """A case whose score changed under at least one metric.

    change: B's score minus A's score, summed over the metrics with a score from both systems.
    """

    case: str
    question: str
    reference: str
    change: float
    a: ShownAnswer
    b: ShownAnswer


@dataclass(frozen=True)
class SystemComparison:
    """The comparison of two systems' scored answers.

    - n_cases: number of common cases, not counting `altered`.
    - reworded: number of common cases, not counting `altered`, whose answer differs between A and B.
    - changed: cases with changed scores, the largest drop first.
    - altered: common cases whose question or reference differs between A and B. Altered cases are not paired.
    - only_a, only_b: cases that were asked only in A or only in B.
    """

    section: str
    a: str
    b: str
    metrics: Sequence[MetricChange]
    n_cases: int
    reworded: int
    changed: Sequence[ChangedCase]
    altered: Sequence[str] = ()
    only_a: Sequence[str] = ()
    only_b: Sequence[str] = ()
    letters: tuple[str, str] = ("A", "B")
    """The letters of the two sides, used as labels."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of all systems and metrics that two or more sides (evaluations) share.

    sides: labels of the sides: A, B, and so on. n_tests: number of comparisons that Holm's correction
    includes. distance: the difference between means for which `MetricChange.needed` is computed.
    """

    sides: Sequence[str]
    alpha: float
    draws: int
    seed: int
    n_tests: int
    distance: float
    strands: Sequence[SystemComparison]
    cautions: Sequence[str]
    items: Sequence[ItemAnalysis] = ()
    """The analysis of each item, if more than two systems are compared."""
    means: Sequence[PricedMetric] = ()
    """Each system's mean over the items with a score from every system, and the cost of an answer."""


@dataclass
class Case:
    """A case (a question) with the scores of one system.

    values: the case's scores by metric; several scores if the case was answered more than once.
    """

    group: str
    answered: Answered
    values: dict[str, list[float]]

    def score(self, metric: str) -> float | None:
        """Return the mean of the case's scores under a metric; None if there are no scores."""
        found = self.values.get(metric)
        return sum(found) / len(found) if found else None


def compare_scored_systems(
    pairs: Iterable[tuple[ScoredSystem, ScoredSystem]],
    *,
    names: Sequence[str] = ("A", "B"),
    metrics: Sequence[str] = (),
    draws: int = 10_000,
    seed: int = 0,
    alpha: float = ALPHA,
    distance: float = DISTANCE,
    letters: Sequence[tuple[str, str]] = (),
) -> Comparison:
    """Compare the scores of pairs of systems. A case with several answers counts once, with its mean score.

    - names: the labels of the sides.
    - metrics: the metrics to compare; empty means all.
    - letters: the side labels of each pair's two systems; empty means A and B.
    - distance: the difference between means for which `needed` is computed, in units of the metric.
    """
    pairs = list(pairs)
    found = [
        replace(_compare(a, b, metrics, draws, seed), letters=pair_letters)
        for (a, b), pair_letters in zip(pairs, letters or [("A", "B")] * len(pairs), strict=True)
    ]
    p_values = [change.p_value for scored_system in found for change in scored_system.metrics]
    tested = sum(p_value is not None for p_value in p_values)
    adjusted = iter(correct_holm(p_values))
    scored_systems = [
        replace(
            scored_system,
            metrics=[
                _finish(change, next(adjusted), alpha / tested if tested else alpha, distance)
                for change in scored_system.metrics
            ],
        )
        for scored_system in found
    ]
    return Comparison(
        names, alpha, draws, seed, tested, distance, scored_systems, _list_cautions(scored_systems)
    )


def _finish(change: MetricChange, adjusted: float | None, alpha: float, distance: float) -> MetricChange:
    """Return the change with `adjusted`, `detectable` and `needed`; unchanged if there is no p value.

    alpha: the significance level of one test.
    """
    if change.p_value is None:
        return change
    return replace(
        change,
        adjusted=adjusted,
        detectable=find_detectable(change.error, change.clusters, alpha),
        needed=find_needed(change.error, change.n_pairs, change.clusters, alpha, distance),
    )


def _compare(
    a: ScoredSystem, b: ScoredSystem, metrics: Sequence[str], draws: int, seed: int
) -> SystemComparison:
    cases_a, cases_b = collect_cases(a), collect_cases(b)
    only_a, only_b = (
        sorted(side.keys() - other.keys()) for side, other in ((cases_a, cases_b), (cases_b, cases_a))
    )
    altered = sorted(find_altered(a, b))
    for key in altered:
        del cases_a[key], cases_b[key]
    both = sorted(cases_a.keys() & cases_b.keys())
    names = list(
        dict.fromkeys(name for cases in (cases_a, cases_b) for case in cases.values() for name in case.values)
    )
    chosen = [name for name in names if not metrics or name in metrics]
    changed = [
        case
        for key in both
        if (case := _show(key, cases_a[key], cases_b[key], chosen)).a.scores != case.b.scores
    ]
    return SystemComparison(
        a.section,
        a.name,
        b.name,
        [_compare_metric(name, cases_a, cases_b, draws, seed) for name in chosen],
        len(both),
        sum(cases_a[key].answered.answer != cases_b[key].answered.answer for key in both),
        sorted(changed, key=lambda case: (case.change, case.case)),
        altered,
        only_a,
        only_b,
    )


def find_altered(a: ScoredSystem, b: ScoredSystem) -> frozenset[str]:
    """Return the common cases whose question or reference differs between the two systems."""
    asked_a, asked_b = (
        {answered.case: (answered.question, answered.reference) for _, answered in scored_system.answers}
        for scored_system in (a, b)
    )
    return frozenset(case for case in asked_a.keys() & asked_b.keys() if asked_a[case] != asked_b[case])


def collect_cases(scored_system: ScoredSystem) -> dict[str, Case]:
    """Return the cases of a system by id, with their scores."""
    cases: dict[str, Case] = {}
    for scored, answered in sorted(scored_system.answers, key=lambda pair: pair[0].id):
        case = cases.setdefault(answered.case, Case(scored.group, answered, defaultdict(list)))
        for name, value in ((answered.metric, scored.value), *answered.further.items()):
            case.values[name] += [] if value is None else [value]
    return cases


def _compare_metric(
    metric: str, cases_a: Mapping[str, Case], cases_b: Mapping[str, Case], draws: int, seed: int
) -> MetricChange:
    asked_a = {key: case.score(metric) for key, case in cases_a.items() if metric in case.values}
    asked_b = {key: case.score(metric) for key, case in cases_b.items() if metric in case.values}
    both = sorted(asked_a.keys() & asked_b.keys())
    pairs = [
        (key, x, y) for key in both if (x := asked_a[key]) is not None and (y := asked_b[key]) is not None
    ]
    a, b = [pair[1] for pair in pairs], [pair[2] for pair in pairs]
    groups = [cases_a[pair[0]].group for pair in pairs]
    clusters = len(set(groups))
    found = compare_paired(b, a, groups, draws, seed) if pairs else None
    delta = [y - x for x, y in zip(a, b, strict=True)]
    return MetricChange(
        metric=metric,
        n_pairs=len(pairs),
        clusters=clusters,
        only_a=len(asked_a.keys() - asked_b.keys()),
        only_b=len(asked_b.keys() - asked_a.keys()),
        unscored_a=sum(asked_a[key] is None for key in both),
        unscored_b=sum(asked_b[key] is None for key in both),
        mean_a=_average(a),
        mean_b=_average(b),
        difference=_average(delta),
        low=found.interval[0] if found and found.interval else None,
        high=found.interval[1] if found and found.interval else None,
        p_value=found.p_value if found else None,
        adjusted=None,
        error=find_clustered_error(delta, groups),
        detectable=None,
        needed=None,
        fell=sum(change < 0 for change in delta),
        rose=sum(change > 0 for change in delta),
    )


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _show(key: str, a: Case, b: Case, metrics: Sequence[str]) -> ChangedCase:
    sides = [
        ShownAnswer(
            case.answered.answer,
            case.answered.note,
            {name: case.score(name) for name in metrics if name in case.values},
        )
        for case in (a, b)
    ]
    scores = [(a.score(name), b.score(name)) for name in metrics]
    change = sum(new - old for old, new in scores if old is not None and new is not None)
    return ChangedCase(key, a.answered.question, a.answered.reference, change, *sides)


def _name(cases: Sequence[str]) -> str:
    rest = len(cases) - NAMED
    return ", ".join(cases[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _list_cautions(scored_systems: Iterable[SystemComparison]) -> list[str]:
    cautions = []
    for scored_system in scored_systems:
        a, b = scored_system.letters
        if scored_system.altered:
            cautions.append(
                f"{scored_system.b}: {len(scored_system.altered)} items have a different question or "
                f"reference in {b}, so the pairs leave them out: {_name(scored_system.altered)}"
            )
        for change in scored_system.metrics:
            where = f"{scored_system.b}, {change.metric}"
            if change.n_pairs == 0:
                cautions.append(
                    f"{where}: there is no item with the same question, the same reference and a score on "
                    "both sides"
                )
            elif change.clusters < LEAST:
                counted = "1 cluster is" if change.clusters == 1 else f"{change.clusters} clusters are"
                cautions.append(f"{where}: {counted} too few to distinguish a difference from chance")
            elif change.clusters < FEW:
                cautions.append(f"{where}: only {change.clusters} clusters, so the interval is too narrow")
            if change.unscored_a or change.unscored_b:
                cautions.append(
                    f"{where}: of the items in both, {change.unscored_a} have no score in {a} and "
                    f"{change.unscored_b} have no score in {b}; the pairs leave these items out"
                )
    return cautions
