"""How far a judge of Part I can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tasks.judging.canaries import CanaryRow, measure_health
from tasks.judging.trust import HumanAlpha, Thresholds, find_warnings, warn_scores
from tasks.ragcheck.rows import Score


def tell_judge(
    judge: str,
    scores: Sequence[Score],
    canaries: Sequence[CanaryRow],
    people: Sequence[HumanAlpha],
    thresholds: Thresholds,
) -> dict[str, Any]:
    """Tell how far a judge can be believed: its canaries, the replies that were no grade, and people.

    canaries: of all judges. people: the agreement with them, of each system's answers.
    """
    own = [each for each in scores if each.judge == judge]
    unscored = sum(each.score is None for each in own)
    health = measure_health(
        replace(each, id=each.id.removeprefix(f"{judge}/"))
        for each in canaries
        if each.id.startswith(f"{judge}/")
    )
    lines = [
        *find_warnings(thresholds, n=len(own), n_unscored=unscored, canaries=health),
        *filter(None, (warn_scores(thresholds, each) for each in people)),
    ]
    return {
        "name": judge,
        "n": len(own),
        "unscored": unscored,
        "canaries": health,
        "people": people,
        "warnings": lines,
    }
