"""Judge report: canary results, unscored replies, agreement with people, and the warnings they lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.judging.canaries import CanaryHealth, CanaryRow, measure_health
from tasks.judging.trust import HumanAlpha, TrustThresholds, find_warnings, warn_human_alpha
from tasks.settings import read_section


@dataclass(frozen=True)
class JudgeReport:
    """One judge's reliability.

    n: replies; unscored: those without a grade; people: agreement with people, per system if several.
    """

    name: str
    n: int
    unscored: int
    canaries: CanaryHealth
    people: Sequence[HumanAlpha]
    warnings: Sequence[str]


def find_thresholds(settings: Mapping[str, object]) -> TrustThresholds:
    """Read the section `judging.thresholds` from a stage's settings."""
    return read_section(settings, "judging.thresholds", TrustThresholds)


def report_judge(
    judge: str,
    scores: Sequence[int | None],
    canaries: Sequence[CanaryRow],
    people: Sequence[HumanAlpha],
    thresholds: TrustThresholds,
) -> JudgeReport:
    """Make the report of one judge.

    scores: the judge's own, None for a reply without a grade. canaries: rows of all judges, with ids
    `<judge>/<canary>`.
    """
    unscored = scores.count(None)
    health = measure_health(
        replace(row, id=row.id.removeprefix(f"{judge}/"))
        for row in canaries
        if row.id.startswith(f"{judge}/")
    )
    warnings = [
        *find_warnings(thresholds, n=len(scores), n_unscored=unscored, canaries=health),
        *filter(None, (warn_human_alpha(thresholds, alpha) for alpha in people)),
    ]
    return JudgeReport(judge, len(scores), unscored, health, people, warnings)
