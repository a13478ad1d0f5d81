"""How far a judge can be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks.judging.canaries import CanaryRow, measure_health
from tasks.judging.trust import HumanAlpha, Thresholds, find_warnings, warn_scores

SECTION = "judging.thresholds."


def find_thresholds(settings: Mapping[str, Any]) -> Thresholds:
    """Read `judging.thresholds` among a stage's parameters."""
    return Thresholds(**{k.removeprefix(SECTION): v for k, v in settings.items() if k.startswith(SECTION)})


def tell_judge(
    judge: str,
    scores: Sequence[int | None],
    canaries: Sequence[CanaryRow],
    people: Sequence[HumanAlpha],
    thresholds: Thresholds,
) -> dict[str, Any]:
    """Tell how far a judge can be believed: its canaries, the replies that were no grade, and people.

    scores: its own, None for a reply that was no grade. canaries: of all judges. people: the agreement with
    them, of each system's answers.
    """
    unscored = scores.count(None)
    health = measure_health(
        replace(each, id=each.id.removeprefix(f"{judge}/"))
        for each in canaries
        if each.id.startswith(f"{judge}/")
    )
    lines = [
        *find_warnings(thresholds, n=len(scores), n_unscored=unscored, canaries=health),
        *filter(None, (warn_scores(thresholds, each) for each in people)),
    ]
    return {
        "name": judge,
        "n": len(scores),
        "unscored": unscored,
        "canaries": health,
        "people": people,
        "warnings": lines,
    }
