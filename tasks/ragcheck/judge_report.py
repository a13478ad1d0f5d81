"""How far a judge can be trusted, as the pages of both parts say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.judging.canaries import CanaryHealth, CanaryRow, measure_health
from tasks.judging.trust import HumanAlpha, TrustThresholds, find_warnings, warn_human_alpha
from tasks.ragcheck.settings import read_section


@dataclass(frozen=True)
class JudgeReport:
    """A judge's health. n: its replies; unscored: those without a grade; people: per system's answers."""

    name: str
    n: int
    unscored: int
    canaries: CanaryHealth
    people: Sequence[HumanAlpha]
    warnings: Sequence[str]


def find_thresholds(settings: Mapping[str, object]) -> TrustThresholds:
    """Read `judging.thresholds` from a stage's further parameters."""
    return read_section(settings, "judging.thresholds", TrustThresholds)


def report_judge(
    judge: str,
    scores: Sequence[int | None],
    canaries: Sequence[CanaryRow],
    people: Sequence[HumanAlpha],
    thresholds: TrustThresholds,
) -> JudgeReport:
    """Report a judge's canaries, its replies without a grade, and its agreement with people.

    scores: its own, None for a reply without a grade. canaries: of all judges, `<judge>/<canary>` by id.
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
