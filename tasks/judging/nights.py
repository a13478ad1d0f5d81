"""Evaluate a nightly run: distinguish dropped scores from changed judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from tasks.judging.canaries import OR, CanaryRow
from tasks.judging.comparison import Comparison, MetricChange, ScoredSystem
from tasks.judging.night_forecast import NightPart
from tasks.scoring.statistics import LEAST, compare_outcomes, correct_holm
from tasks.settings import Settings

SeriesOutcome = Literal["first", "held", "too few", "fell", "judge drift", "unscored"]
AlarmKind = Literal["regression", "judge drift", "unscored", "lost", "gold", "contract", "budget"]
NightState = Literal["accepted", "alarm", "unfinished"]


class AlarmRule(Settings):
    """The conditions under which a nightly run raises an alarm."""

    drop: float = Field(default=0.02, ge=0)
    """Minimum drop in a mean that raises an alarm, in units of the score."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Significance level for the paired bootstrap (two-sided, with Holm's correction over all metrics).

    McNemar's test on a judge's canaries uses the same level.
    """
    unscored: float = Field(default=0.2, ge=0, le=1)
    """Maximum share of unscored items; a higher share raises an alarm."""
    draws: int = Field(default=10_000, ge=100)
    """Number of bootstrap samples per interval."""
    seed: int = 0
    """The seed of the bootstrap."""


@dataclass(frozen=True)
class NightSeries:
    """A metric of one system in a nightly run.

    - n: number of the system's cases. n_scored: number of these cases that have a score.
    - mean: the mean score of the scored cases; None if there are none.
    - n_pairs: number of cases with a score in both runs. All values below are computed over these pairs.
    - before: the mean in the earlier run. now: the mean in this run.
    - difference: `now` minus `before`. low, high: the 95% interval of the difference.
    - adjusted: the p value, corrected with Holm's method over all comparisons of the run.
    - fell: number of pairs with a lower score in this run. rose: number of pairs with a higher score.

    The means and the difference are None if there are no pairs. The interval and the p values are also None
    if there are too few clusters.
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
        """The display name: SECTION.ENTRY/SYSTEM METRIC, or SECTION.ENTRY METRIC for a nameless system."""
        return f"{self.section}.{self.entry}{f'/{self.system}' if self.system else ''} {self.metric}"


@dataclass(frozen=True)
class JudgeChange:
    """The change in a judge's own verdicts on an entry's canaries from the earlier run to this run.

    - n: number of canaries that are in both runs.
    - right: number of right verdicts in this run. before: number of right verdicts in the earlier run.
    - lost: number of canaries with a right verdict only in the earlier run. won: number only in this run.
    - p_value: the p value of McNemar's exact test on lost and won canaries; None if there are too few
      canaries.
    - judge: the judge's name; empty if the entry has only one judge.
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
    """An item whose gold query now returns a different answer. entry: the full name of the item's entry."""

    entry: str
    item: str
    what: str


@dataclass(frozen=True)
class NightAlarm:
    """A reason for an alarm. what: the description, on one line."""

    kind: AlarmKind
    what: str


@dataclass(frozen=True)
class Night:
    """The result of a nightly run.

    against: the label of the accepted run that this run is compared with, or None. gold: number of gold
    queries that were run again.
    """

    label: str
    against: str | None
    state: NightState
    alarms: tuple[NightAlarm, ...]
    series: tuple[NightSeries, ...] = ()
    judges: tuple[JudgeChange, ...] = ()
    gold: int = 0
    differences: tuple[GoldDifference, ...] = ()
    part: NightPart | None = None
    """The part of the items that the run evaluated; None for a full run."""
    whole: str = ""
    """The reason for a full run; empty if the run evaluated a part, or if no subset is configured."""

    @property
    def is_accepted(self) -> bool:
        """Whether the run is accepted as the current state."""
        return self.state == "accepted"

    @property
    def is_baseline(self) -> bool:
        """Whether later runs are compared with this run: only if this run is accepted and is a full run."""
        return self.is_accepted and self.part is None


def list_series(scored_systems: Iterable[ScoredSystem]) -> list[NightSeries]:
    """List the metrics of each system in a nightly run, without a comparison.

    A case that was answered several times counts once, with its mean score.
    """
    series = []
    for scored_system in sorted(scored_systems, key=lambda listed: (listed.section, listed.name)):
        scores: dict[str, dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
        for scored, answered in scored_system.answers:
            for metric, value in ((answered.metric, scored.value), *answered.further.items()):
                scores[metric][answered.case].append(value)
        for metric, cases in scores.items():
            known = [[value for value in values if value is not None] for values in cases.values()]
            means = [sum(values) / len(values) for values in known if values]
            series.append(
                NightSeries(
                    scored_system.section,
                    scored_system.entry,
                    scored_system.system,
                    metric,
                    len(cases),
                    len(means),
                    sum(means) / len(means) if means else None,
                )
            )
    return series


def name_by_id(row: CanaryRow) -> str:
    """Return the judge's name from a canary's id `JUDGE/ID`; empty for an entry with only one judge."""
    return row.id.rpartition("/")[0]


def compare_canaries(
    entry: tuple[str, str],
    earlier: Iterable[CanaryRow],
    night: Iterable[CanaryRow],
    name_judge: Callable[[CanaryRow], str] = name_by_id,
) -> list[JudgeChange]:
    """Compare each judge's verdicts on the canaries of both runs; `mark_drifts` decides which judges drifted.

    entry: section and key. Verdicts of rules are ignored, and verdicts that could not be parsed count as
    wrong. name_judge: the function that returns a canary's judge, for entries with several judges.
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
    """Mark the judges that lost significantly more canaries than they won, after Holm's correction.

    Entries with the same judge have the same verdicts on canaries, so equal changes count as one test. A
    judge is not tested if so few of its verdicts changed that the p value cannot be below `alpha` (Tarone
    1990).
    """
    tests = {
        _name_change(change): change.p_value
        for change in changes
        # The lowest p value of McNemar's exact test: n changes in one direction give 2 * 0.5^n.
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
    """Return the metrics with their outcomes and their changes since the earlier run.

    comparison: the comparison of the earlier run (A) with this run (B). A drop in a metric whose judge
    drifted is attributed to the judge.
    """
    changes = {
        (scored_system.section, scored_system.b, change.metric): change
        for scored_system in comparison.strands
        for change in scored_system.metrics
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
    # If an entry has several judges, the name of a metric contains the judge: `score JUDGE RULE`.
    return judge.drifted and same and (not judge.judge or judge.judge in series.metric.split())


def list_alarms(
    series: Sequence[NightSeries], judges: Sequence[JudgeChange], lost: Sequence[str], rule: AlarmRule
) -> list[NightAlarm]:
    """List the alarms of a nightly run, the most severe first.

    lost: the systems that are only in the earlier run.
    """
    drifts = [judge for judge in judges if judge.drifted]
    return [
        *(NightAlarm("regression", describe_fall(metric)) for metric in series if metric.outcome == "fell"),
        *(NightAlarm("judge drift", describe_drift(judge, series)) for judge in drifts),
        *(
            NightAlarm(
                "unscored",
                f"{metric.name}: {metric.n - metric.n_scored} of {metric.n} items could not be scored; at "
                f"most {rule.unscored:.0%} are allowed",
            )
            for metric in series
            if metric.outcome == "unscored"
        ),
        *(
            NightAlarm("lost", f"{name}: the earlier night has scores, but this night does not")
            for name in lost
        ),
    ]


def describe_fall(series: NightSeries) -> str:
    """Describe in one line how far a mean dropped."""
    known = series.low is not None and series.high is not None
    interval = f"95% interval {series.low:.3f} to {series.high:.3f}, " if known else ""
    return (
        f"{series.name}: the mean fell by {-(series.difference or 0):.3f} over {series.n_pairs} items "
        f"({interval}p = {series.adjusted:.4f} by Holm)"
    )


def describe_drift(judge: JudgeChange, series: Sequence[NightSeries]) -> str:
    """Describe in one line how a judge changed, and which drops are attributed to this change."""
    name = f"{judge.section}.{judge.entry}{f' ({judge.judge})' if judge.judge else ''}"
    moved = [
        metric.metric for metric in series if metric.outcome == "judge drift" and _judged_by(metric, judge)
    ]
    said = (
        f"; these metrics fell with the judge and do not count as regressions: "
        f"{', '.join(sorted(set(moved)))}"
        if moved
        else ""
    )
    return (
        f"{name}: the judge drifted: right on {judge.right} of {judge.n} canaries, in the earlier night on "
        f"{judge.before} (p = {judge.p_value:.4f}){said}"
    )
