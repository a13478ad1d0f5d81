"""Evaluate a night: which scores dropped significantly, and whether the judge changed instead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from tasks.judging.canaries import OR, CanaryRow
from tasks.judging.comparison import Comparison, MetricChange, Strand
from tasks.judging.night_forecast import NightPart
from tasks.scoring.statistics import LEAST, compare_outcomes, correct_holm
from tasks.settings import Settings

SeriesOutcome = Literal["first", "held", "too few", "fell", "judge drift", "unscored"]
AlarmKind = Literal["regression", "judge drift", "unscored", "lost", "gold", "contract", "budget"]
NightState = Literal["accepted", "alarm", "unfinished"]


class AlarmRule(Settings):
    """When a night raises an alarm."""

    drop: float = Field(default=0.02, ge=0)
    """Minimum drop of a mean that raises an alarm, in units of the score."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Significance level for the paired bootstrap's two-sided p value, with Holm's correction over the night,
    and for McNemar's test on a judge's canaries."""
    unscored: float = Field(default=0.2, ge=0, le=1)
    """Maximum share of unscored items; a higher share raises an alarm."""
    draws: int = Field(default=10_000, ge=100)
    """Bootstrap samples per interval."""
    seed: int = 0
    """The seed of the bootstrap."""


@dataclass(frozen=True)
class NightSeries:
    """A metric of one system in a night. n, mean: of all cases it was asked; the rest of those in pairs.

    difference: mean of this night less that of the night before, with its 95% interval; adjusted: the p
    value by Holm over all that the night compares. None where there are no pairs, or too few clusters.
    """

    section: str
    entry: str
    system: str
    metric: str
    n: int
    n_scored: int
    mean: float | None
    n_pairs: int = 0
    clusters: int = 0
    before: float | None = None
    now: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    adjusted: float | None = None
    fell: int = 0
    rose: int = 0
    outcome: SeriesOutcome = "first"

    @property
    def name(self) -> str:
        """SECTION.ENTRY/SYSTEM METRIC, without a system that has no name."""
        return f"{self.section}.{self.entry}{f'/{self.system}' if self.system else ''} {self.metric}"


@dataclass(frozen=True)
class JudgeChange:
    """A judge's own verdicts on the canaries of an entry, this night and the one before.

    right, before: of the n canaries of both nights; lost, won: canaries right in one of them alone; p_value:
    of McNemar's exact test over these; None of too few canaries. judge: empty where the entry has one judge
    alone.
    """

    section: str
    entry: str
    judge: str
    n: int
    right: int
    before: int
    lost: int
    won: int
    p_value: float | None
    drifted: bool


@dataclass(frozen=True)
class GoldDifference:
    """An item whose gold query gives another answer than before. entry: by its full name."""

    entry: str
    item: str
    what: str


@dataclass(frozen=True)
class NightAlarm:
    """A reason for an alarm, in one line."""

    kind: AlarmKind
    what: str


@dataclass(frozen=True)
class Night:
    """A night. against: the accepted night that it was compared with, if any. gold: queries run again."""

    label: str
    against: str | None
    state: NightState
    alarms: tuple[NightAlarm, ...]
    series: tuple[NightSeries, ...] = ()
    judges: tuple[JudgeChange, ...] = ()
    gold: int = 0
    differences: tuple[GoldDifference, ...] = ()
    part: NightPart | None = None
    """What it asked; None of a whole night."""
    whole: str = ""
    """Why it asked all items, where other nights ask a part."""

    @property
    def is_accepted(self) -> bool:
        """Return whether the night is accepted as the current state."""
        return self.state == "accepted"

    @property
    def is_baseline(self) -> bool:
        """Return whether later nights are compared with it: an accepted night of all items."""
        return self.is_accepted and self.part is None


def list_series(strands: Iterable[Strand]) -> list[NightSeries]:
    """List the metrics of a night's strands, compared with nothing yet. A case answered often counts once."""
    series = []
    for strand in sorted(strands, key=lambda listed: (listed.section, listed.name)):
        scores: dict[str, dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
        for scored, answered in strand.answers:
            for metric, value in ((answered.metric, scored.value), *answered.further.items()):
                scores[metric][answered.case].append(value)
        for metric, cases in scores.items():
            known = [[value for value in values if value is not None] for values in cases.values()]
            means = [sum(values) / len(values) for values in known if values]
            series.append(
                NightSeries(
                    strand.section,
                    strand.entry,
                    strand.system,
                    metric,
                    len(cases),
                    len(means),
                    sum(means) / len(means) if means else None,
                )
            )
    return series


def name_by_id(row: CanaryRow) -> str:
    """Name the judge that a canary tries: `JUDGE/ID` is one of several; empty where there is one alone."""
    return row.id.rpartition("/")[0]


def compare_canaries(
    entry: tuple[str, str],
    earlier: Iterable[CanaryRow],
    night: Iterable[CanaryRow],
    name_judge: Callable[[CanaryRow], str] = name_by_id,
) -> list[JudgeChange]:
    """Compare each judge's own verdicts on the canaries that both nights have; `mark_drifts` decides.

    entry: section and key. What a rule decides before the judge is left out of it, and a verdict that did
    not parse is not right. name_judge: of several judges of an entry, the one that a canary tries.
    """
    before = {row.id: _is_right(row) for row in earlier}
    rows = {row.id: row for row in night}
    now = {canary: _is_right(row) for canary, row in rows.items()}
    by_judge: dict[str, list[str]] = defaultdict(list)
    for canary in sorted(before.keys() & now.keys()):
        by_judge[name_judge(rows[canary])].append(canary)
    changes = []
    for judge, canaries in by_judge.items():
        then, again = [before[canary] for canary in canaries], [now[canary] for canary in canaries]
        found = compare_outcomes(then, again)
        changes.append(
            JudgeChange(
                *entry,
                judge,
                len(canaries),
                sum(again),
                sum(then),
                found.only_a,
                found.only_b,
                found.p_value,
                drifted=False,
            )
        )
    return changes


def mark_drifts(changes: Sequence[JudgeChange], alpha: float) -> list[JudgeChange]:
    """Mark the judges that lost more canaries than chance would take, corrected by Holm.

    Entries that share a judge share its verdicts on the canaries: the same change counts once. A judge of
    whom too few canaries changed to be below `alpha` at all counts as no test (Tarone 1990).
    """
    tests = {
        _name_change(change): change.p_value
        for change in changes
        if 2.0 ** (1 - change.lost - change.won) < alpha
    }
    adjusted = zip(tests, correct_holm(list(tests.values())), strict=True)
    shown = {name for name, p_value in adjusted if p_value is not None and p_value < alpha}
    return [
        replace(change, drifted=change.lost > change.won and _name_change(change) in shown)
        for change in changes
    ]


def _name_change(change: JudgeChange) -> tuple[str, int, int, int, int]:
    return change.judge, change.n, change.right, change.lost, change.won


def _is_right(row: CanaryRow) -> bool:
    return row.given in row.expected.split(OR)


def judge_series(
    series: Sequence[NightSeries], comparison: Comparison, judges: Sequence[JudgeChange], rule: AlarmRule
) -> list[NightSeries]:
    """Decide of each metric what became of it.

    comparison: of the night before (A) with this one (B), on one strand each. A fall of a metric whose judge
    drifted is the judge's.
    """
    changes = {
        (strand.section, strand.b, change.metric): change
        for strand in comparison.strands
        for change in strand.metrics
    }
    return [_judge_metric(metric, changes, judges, rule) for metric in series]


def _judge_metric(
    series: NightSeries,
    changes: Mapping[tuple[str, str, str], MetricChange],
    judges: Sequence[JudgeChange],
    rule: AlarmRule,
) -> NightSeries:
    name = f"{series.entry}/{series.system}" if series.system else series.entry
    change = changes.get((series.section, name, series.metric))
    unscored = series.n - series.n_scored > rule.unscored * series.n
    if change is None or not change.n_pairs:
        return replace(series, outcome="unscored" if unscored else "first")
    outcome: SeriesOutcome = "held"
    fell = change.difference is not None and change.difference < 0 and -change.difference >= rule.drop
    if unscored:
        outcome = "unscored"
    elif fell and change.clusters < LEAST:
        outcome = "too few"
    elif fell and change.adjusted is not None and change.adjusted < rule.alpha:
        outcome = "judge drift" if any(_judged_by(series, judge) for judge in judges) else "fell"
    return replace(
        series,
        n_pairs=change.n_pairs,
        clusters=change.clusters,
        before=change.mean_a,
        now=change.mean_b,
        difference=change.difference,
        low=change.low,
        high=change.high,
        p_value=change.p_value,
        adjusted=change.adjusted,
        fell=change.fell,
        rose=change.rose,
        outcome=outcome,
    )


def _judged_by(series: NightSeries, judge: JudgeChange) -> bool:
    same = (series.section, series.entry) == (judge.section, judge.entry)
    return judge.drifted and same and (not judge.judge or judge.judge in series.metric.split())


def list_alarms(
    series: Sequence[NightSeries], judges: Sequence[JudgeChange], lost: Sequence[str], rule: AlarmRule
) -> list[NightAlarm]:
    """List what a night raises an alarm for, the worst first. lost: systems that the night before had."""
    drifts = [judge for judge in judges if judge.drifted]
    return [
        *(NightAlarm("regression", describe_fall(metric)) for metric in series if metric.outcome == "fell"),
        *(NightAlarm("judge drift", describe_drift(judge, series)) for judge in drifts),
        *(
            NightAlarm(
                "unscored",
                f"{metric.name}: {metric.n - metric.n_scored} of {metric.n} items could not be scored, "
                f"more than {rule.unscored:.0%}",
            )
            for metric in series
            if metric.outcome == "unscored"
        ),
        *(
            NightAlarm("lost", f"{name}: the night before has scores, but this night has none")
            for name in lost
        ),
    ]


def describe_fall(series: NightSeries) -> str:
    """Say in one line how far a mean fell."""
    known = series.low is not None and series.high is not None
    interval = f"95% interval {series.low:.3f} to {series.high:.3f}, " if known else ""
    return (
        f"{series.name}: the mean fell by {-(series.difference or 0):.3f} over {series.n_pairs} items "
        f"({interval}p = {series.adjusted:.4f} by Holm)"
    )


def describe_drift(judge: JudgeChange, series: Sequence[NightSeries]) -> str:
    """Say in one line how a judge changed, and which falls are therefore no regressions."""
    name = f"{judge.section}.{judge.entry}{f' ({judge.judge})' if judge.judge else ''}"
    moved = [
        metric.metric for metric in series if metric.outcome == "judge drift" and _judged_by(metric, judge)
    ]
    said = (
        f"; these metrics fell with the judge and are no regression: {', '.join(sorted(set(moved)))}"
        if moved
        else ""
    )
    return (
        f"{name}: the judge drifted: right on {judge.right} of {judge.n} canaries, before on {judge.before} "
        f"(p = {judge.p_value:.4f}){said}"
    )
