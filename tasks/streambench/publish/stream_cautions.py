"""Compute the warnings for an evaluation's page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tasks.judging.trust import TrustThresholds
from tasks.settings import read_section
from tasks.streambench.scored_steps import ScoredStep, StreamRuns

FEW = 100
"""Minimum number of steps in a stream. With fewer steps, differences are mostly due to chance."""


def list_stream_cautions(runs: StreamRuns, settings: Mapping[str, object]) -> list[str]:
    """Return the warnings of an evaluation; empty if there are none. settings: `judging.thresholds.*`."""
    thresholds = read_section(settings, "judging.thresholds", TrustThresholds)
    return [
        *_warn_few(runs),
        *_warn_seeds(runs),
        *_warn_steps(
            runs, lambda scored: scored.failed, "failed and count as wrong", lambda scored: scored.step.failed
        ),
        *_warn_unjudged(runs, thresholds.unscored_share),
        *_warn_steps(
            runs,
            lambda scored: bool(scored.step.left_out),
            "had a shortened prompt, because the context window was too small",
            lambda scored: scored.step.left_out[0],
        ),
        *_warn_estimated(runs),
    ]


def _warn_few(runs: StreamRuns) -> Iterator[str]:
    longest = max((scored.step.position for scored in runs.steps), default=0)
    if longest < FEW:
        yield f"With only {longest} steps, a difference between two methods may be due to chance."


def _warn_seeds(runs: StreamRuns) -> Iterator[str]:
    single = [
        system for system, steps in runs.systems.items() if len({scored.step.seed for scored in steps}) == 1
    ]
    if single and len(single) == len(runs.systems):
        yield (
            "Every method ran with only one order of the stream (one seed). The ranking of the methods may "
            "be different with another order."
        )
    elif single:
        names = ", ".join(dict.fromkeys(system.title for system in single))
        counted = f"{len(single)} combination{'s' if len(single) > 1 else ''} of method and model"
        yield (
            f"{counted} ran with only one seed. The accuracy may depend on the order of the stream. "
            f"Methods: {names}."
        )


def _warn_unjudged(runs: StreamRuns, most: float) -> Iterator[str]:
    """Warn about unjudged steps if their share in any method exceeds `most` (0 to 1)."""
    shares = [sum(scored.unjudged for scored in steps) / len(steps) for steps in runs.systems.values()]
    if max(shares, default=0.0) > most:
        yield from _warn_steps(
            runs,
            lambda scored: scored.unjudged,
            "could not be judged and count as wrong",
            lambda scored: scored.step.failed,
        )


def _warn_steps(
    runs: StreamRuns,
    choose: Callable[[ScoredStep], bool],
    what: str,
    explain: Callable[[ScoredStep], str],
) -> Iterator[str]:
    """Yield a warning about the steps for which `choose` is true, if any.

    The warning states the number of steps, the most common reason and the most affected method.
    """
    chosen = {
        system: [scored for scored in steps if choose(scored)] for system, steps in runs.systems.items()
    }
    found = [scored for steps in chosen.values() for scored in steps]
    if not found:
        return
    total = len(runs.steps)
    worst = max(chosen, key=lambda system: len(chosen[system]) / len(runs.systems[system]))
    most = f"{worst.title}, {worst.models} ({len(chosen[worst])} of {len(runs.systems[worst])})"
    reason, _ = Counter(map(explain, found)).most_common(1)[0]
    yield (
        f"{len(found):,} of {total:,} steps {what}. The most common reason: {reason or 'none given'}. "
        f"Most affected: {most}."
    )


def _warn_estimated(runs: StreamRuns) -> Iterator[str]:
    steps = runs.steps
    estimated = sum(scored.score.estimated for scored in steps)
    if estimated:
        yield (
            f"The token counts of {estimated} of {len(steps)} steps are estimates: their provider "
            "returned no counts."
        )
