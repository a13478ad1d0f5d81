"""What a reader is told at the head of an evaluation's page before any figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tasks.judging.trust import TrustThresholds
from tasks.settings import read_section
from tasks.streambench.publish.stream_runs import StreamRuns, list_run_names

FEW = 100
"""Steps of a stream below which differences between methods are mostly chance."""


def list_stream_cautions(runs: StreamRuns, settings: Mapping[str, object]) -> list[str]:
    """Write the warnings; none if all is well. settings: `judging.thresholds.*`."""
    thresholds = read_section(settings, "judging.thresholds", TrustThresholds)
    return [
        *_warn_few(runs),
        *_warn_seeds(runs),
        *_warn_failed(runs),
        *_warn_unjudged(runs, thresholds.unscored_share),
        *_warn_left_out(runs),
        *_warn_estimated(runs),
    ]


def _warn_few(runs: StreamRuns) -> Iterator[str]:
    longest = max((one.step.position for one in runs.list_steps(runs.systems)), default=0)
    if longest < FEW:
        yield f"{longest} steps are few: a difference between two methods may be chance."


def _warn_seeds(runs: StreamRuns) -> Iterator[str]:
    single = [system for system, steps in runs.systems.items() if len({one.step.seed for one in steps}) == 1]
    if single and len(single) == len(runs.systems):
        yield "One order of the stream (one seed): another order may rank the methods otherwise."
    elif single:
        names = ", ".join(dict.fromkeys(system.title for system in single))
        yield f"One seed alone of {names}: no standard error, and the order of the stream may decide."


def _warn_failed(runs: StreamRuns) -> Iterator[str]:
    for system, steps in runs.systems.items():
        failed = [one for one in steps if one.failed]
        if failed:
            reason, _ = Counter(one.step.failed for one in failed).most_common(1)[0]
            yield (
                f"{system.title}, {system.models}: {len(failed)} of {len(steps)} steps failed and count as "
                f"wrong ({reason or 'no reason is given'})."
            )


def _warn_unjudged(runs: StreamRuns, most: float) -> Iterator[str]:
    for system, steps in runs.systems.items():
        unjudged = [one for one in steps if one.unjudged]
        if len(unjudged) > most * len(steps):
            share = f"{len(unjudged)} of {len(steps)} steps"
            reason = unjudged[0].step.failed or "no reason is given"
            who = f"{system.title}, {system.models}"
            yield f"{who}: {share} could not be judged and count as wrong ({reason})."


def _warn_left_out(runs: StreamRuns) -> Iterator[str]:
    for system, steps in runs.systems.items():
        cut = [one for one in steps if one.step.left_out]
        if cut:
            runs_cut = len(list_run_names(cut))
            yield (
                f"{system.title}, {system.models}: {len(cut)} of {len(steps)} prompts ({runs_cut} runs) lack "
                f"something that the window had no room for ({cut[0].step.left_out[0]})."
            )


def _warn_estimated(runs: StreamRuns) -> Iterator[str]:
    steps = runs.list_steps(runs.systems)
    estimated = sum(one.score.estimated for one in steps)
    if estimated:
        yield f"Tokens of {estimated} of {len(steps)} steps are estimates: their provider gave no counts."
