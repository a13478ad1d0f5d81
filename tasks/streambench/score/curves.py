"""Stage: compute accuracy, regret and memory size after each step, over seeds (StreamBench, section 5.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, sqrt
from statistics import fmean

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.errors import StageFailed
from tasks.streambench.score.scores import StepScore

Runs = Mapping[str, Sequence[StepScore]]


@dataclass(frozen=True)
class CurvePoint:
    """Row of the stage `curves`: a method's accuracy, regret and memory after step t, averaged over seeds."""

    id: str
    """The row's id: `make_id("curve", method, agents, position)`."""
    method: str
    agents: tuple[str, ...]
    position: int
    seeds: int
    accuracy: float
    """The mean, over seeds, of the average of the first t scores."""
    error: float | None
    """Standard error over seeds (n - 1 degrees of freedom); None for one seed."""
    memory_size: float
    regret: float
    """The regret after step t, averaged over seeds.

    The regret of a run is the best run's sum of the first t scores minus the run's own sum. The best run has
    the same seed and the highest sum over all T steps; ties are broken by name.
    """
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class RunningSums:
    """A run and its cumulative scores: `sums[t - 1]` is the sum of the first t scores."""

    run: str
    steps: Sequence[StepScore]
    sums: Sequence[float]


def curves(scores: list[StepScore]) -> Drafts[CurvePoint]:
    """Compute a point for each method, set of models and position, up to the end of the shortest run.

    A point's origin contains only the scores at its position, in the method's runs and in the best runs.
    Earlier scores are in the origins of earlier points. Raises StageFailed if a run lacks a position.
    """
    runs = {run: _sum_up(run, run_scores) for run, run_scores in group_runs(scores).items()}
    best = {seed: _find_best(runs, seed) for seed in {score.seed for score in scores}}
    systems: defaultdict[tuple[str, tuple[str, ...]], list[RunningSums]] = defaultdict(list)
    for run_sums in sorted(runs.values(), key=lambda run_sums: (run_sums.steps[0].seed, run_sums.run)):
        systems[run_sums.steps[0].method, run_sums.steps[0].agents].append(run_sums)
    points = [
        _make_point(
            method, agents, position, system_runs, [best[run_sums.steps[0].seed] for run_sums in system_runs]
        )
        for (method, agents), system_runs in sorted(systems.items())
        for position in range(1, min(len(run_sums.steps) for run_sums in system_runs) + 1)
    ]
    return Drafts(points)


def group_runs(scores: Sequence[StepScore]) -> dict[str, list[StepScore]]:
    """Group the scores by run, in stream order."""
    runs: defaultdict[str, list[StepScore]] = defaultdict(list)
    for score in sorted(scores, key=lambda score: (score.run, score.position)):
        runs[score.run].append(score)
    return dict(runs)


def measure_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean (n - 1 degrees of freedom); None for one value."""
    if len(values) < 2:
        return None
    mean = fmean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def _sum_up(run: str, steps: Sequence[StepScore]) -> RunningSums:
    for position, step in enumerate(steps, 1):
        if step.position != position:
            raise StageFailed(
                f"streambench.curves: the run {run} has no step {position}; run streambench.steps again"
            )
    return RunningSums(run, steps, list(accumulate(step.score for step in steps)))


def _find_best(runs: Mapping[str, RunningSums], seed: int) -> RunningSums:
    """Return the run of a seed with the highest final sum; ties are broken by name."""
    return min(
        (run_sums for run_sums in runs.values() if run_sums.steps[0].seed == seed),
        key=lambda run_sums: (-run_sums.sums[-1], run_sums.run),
    )


def _make_point(
    method: str,
    agents: tuple[str, ...],
    position: int,
    own: Sequence[RunningSums],
    best: Sequence[RunningSums],
) -> CurvePoint:
    place = position - 1
    accuracies = [run_sums.sums[place] / position for run_sums in own]
    # The best run may be shorter than this run; its last sum then stands for all later positions.
    leading = [run_sums.sums[min(place, len(run_sums.sums) - 1)] for run_sums in best]
    stands_on = [run_sums.steps[place].id for run_sums in (*own, *best) if place < len(run_sums.steps)]
    return CurvePoint(
        id=make_id("curve", method, agents, position),
        method=method,
        agents=agents,
        position=position,
        seeds=len(own),
        accuracy=fmean(accuracies),
        error=measure_error(accuracies),
        memory_size=fmean(run_sums.steps[place].memory_size for run_sums in own),
        regret=fmean(lead - run_sums.sums[place] for lead, run_sums in zip(leading, own, strict=True)),
        origin=tuple(Origin("row", f"scores#{row}") for row in dict.fromkeys(stands_on)),
    )
