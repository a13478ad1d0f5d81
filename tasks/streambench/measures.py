"""Define measures over scored steps for tables: accuracy, gains and tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum
from statistics import fmean

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.declared import Measure, Where
from tasks.reports.tables import Cell, leave_empty
from tasks.scoring.statistics import (
    Interval,
    compare_paired,
    find_mean_interval,
    find_share_interval,
)
from tasks.streambench.entries import MethodChoice
from tasks.streambench.score.curves import measure_error
from tasks.streambench.scored_steps import ScoredStep, StreamSystem, list_run_names

STEPS = "steps"
NOT_RUN = "not run"
Steps = Sequence[ScoredStep]


def leave_out(why: str) -> Cell:
    """Return an empty cell. why: the reason to show in the table."""
    return leave_empty(why, STEPS)


def derive(measure: str, runs: Iterable[str], column: str) -> Derivation:
    """Return the derivation of a figure from the scores of the given runs."""
    return Derivation(measure, tuple(Selection("scores", {"run": run}) for run in runs), column)


def count_steps(
    value: float | None,
    steps: Steps,
    interval: Interval | None = None,
    derivation: Derivation | None = None,
    why: str = "",
) -> Cell:
    """Return a cell for a figure over the given steps; n includes failed and unjudged steps."""
    failed, unjudged = sum(scored.failed for scored in steps), sum(scored.unjudged for scored in steps)
    return Cell(value, len(steps), failed, interval, STEPS, why, derivation, unjudged)


def rate_right(steps: Steps, part: str = "") -> Cell:
    """Return the share of correct steps, 0 to 1, over one run or several runs of equal length.

    Failed and unjudged steps count as wrong. For one run, the interval is a Wilson interval. For several
    runs, a bootstrap resamples whole items, since the steps on one item are not independent.

    - part: a description of the steps if they are only part of their runs.
    """
    if not steps:
        return leave_out("no step")
    scores = [scored.score.score for scored in steps]
    runs = list_run_names(steps)
    if len(runs) == 1:
        interval, why = find_share_interval(sum(map(int, scores)), len(scores), "items")
    else:
        items = [scored.step.item for scored in steps]
        interval, why = find_mean_interval(scores, items, of="items", share=True)
    measure = f"mean over {part}" if part else "mean"
    return count_steps(fmean(scores), steps, interval, derive(measure, runs, "score"), why)


def _rate_part(steps: Steps, where: Where) -> Cell:
    """Return the share of correct steps for a part of the runs: a dataset or a kind of item."""
    kind = where.get("kind")
    return rate_right(steps, str(where.get("dataset", "")) if kind is None else f"the items of {kind}")


def _estimate_error(steps: Steps, where: Where) -> Cell:
    """Return the standard error of the share of correct steps over seeds (n - 1 degrees of freedom)."""
    seeds = {scored.step.seed for scored in steps}
    shares = [
        fmean(scored.score.score for scored in steps if scored.step.seed == seed) for seed in sorted(seeds)
    ]
    error = measure_error(shares)
    derivation = derive("standard error over runs", list_run_names(steps), "score")
    return count_steps(error, steps, None, derivation, "" if error is not None else "one seed")


RIGHT = Measure[ScoredStep]("right", _rate_part, leave_out, "share")
RIGHT_IF_RUN = replace(RIGHT, fill=lambda steps, where: rate_right(steps) if steps else leave_out(NOT_RUN))
"""The share of correct steps; a cell without steps shows `not run`."""
ERROR = Measure[ScoredStep]("standard error", _estimate_error, leave_out, "share")


def average_over(measure: Measure[ScoredStep], find_every: Callable[[Where], Steps]) -> Measure[ScoredStep]:
    """Return a measure with comparable means: all means are over the same models and items.

    find_every: returns the steps of all methods in the column. See `choose_shared`.
    """

    def fill(steps: Steps, where: Where) -> Cell:
        kept, why = choose_shared(steps, find_every(where)) if steps else (steps, "")
        return leave_out(why) if why else measure.fill(kept, where)

    return replace(measure, fill=fill)


def choose_shared(steps: Steps, every: Steps) -> tuple[Steps, str]:
    """Return (steps by the models that every method ran with, ""), or ((), reason) if there are none.

    every: the steps of all methods. All models must have the same number of runs, so that a mean over runs
    weights all models equally.
    """
    models, items = list_shared(every), {scored.step.item for scored in every}
    if not models:
        return (), "no model was run with every method"
    kept: Steps = [scored for scored in steps if {*scored.system.agents} <= {*models}]
    shared = {agent for scored in steps if scored.system.shared for agent in scored.system.agents}
    if shared and shared != {*models}:
        return (
            (),
            f"alternates between {join_tied(sorted(shared))}, but the other methods use other models",
        )
    asked = _list_asked(kept)
    if not asked or any(items - run_items for runs in asked.values() for run_items in runs):
        return (), "not run on every item"
    if len({len(runs) for runs in asked.values()}) > 1:
        return (), "its models have different numbers of runs"
    return kept, ""


def list_shared(every: Steps) -> tuple[str, ...]:
    """Return the models that every method ran with on all items, ignoring ablations and shared memories."""
    items = {scored.step.item for scored in every}
    whole: dict[MethodChoice, list[str]] = {}
    for system, runs in _list_asked(every).items():
        if not (system.shared or system.ablated) and not any(items - run_items for run_items in runs):
            whole.setdefault(system.choice, []).append(system.models)
    names = dict.fromkeys(model for models in whole.values() for model in models)
    return tuple(name for name in names if all(name in models for models in whole.values()))


def _list_asked(steps: Steps) -> dict[StreamSystem, list[set[str]]]:
    """Map each system to one set of items per run."""
    runs: dict[tuple[StreamSystem, str], set[str]] = {}
    for scored in steps:
        runs.setdefault((scored.system, scored.step.run), set()).add(scored.step.item)
    asked: dict[StreamSystem, list[set[str]]] = {}
    for (system, _), items in runs.items():
        asked.setdefault(system, []).append(items)
    return asked


def average_value(name: str, values: Mapping[str, Mapping[str, float]]) -> Measure[ScoredStep]:
    """Return a measure that computes the mean of a metric's score. values: step id -> scores by name.

    Steps without the score are excluded.
    """

    def fill(steps: Steps, where: Where) -> Cell:
        counted = [scored for scored in steps if name in values[scored.step.id]]
        if not counted:
            return leave_out("of no step")
        mean = sum(values[scored.step.id][name] for scored in counted) / len(counted)
        derivation = derive(f"mean of the metric's {name}", list_run_names(counted), "score")
        return count_steps(mean, counted, None, derivation)

    return Measure(name, fill, leave_out, "mean")


def compare_gain(own: Steps, base: Steps) -> Cell:
    """Return the mean score difference `own` minus `base` over their common seeds and items."""
    pairs = pair_steps(own, base)
    if not pairs:
        return leave_out("no Zero-Shot run to compare with")
    found = compare_paired(
        [a.score.score for a, _ in pairs],
        [b.score.score for _, b in pairs],
        [a.step.item for a, _ in pairs],
    )
    steps = [a for a, _ in pairs]
    names = [*list_run_names(steps), *list_run_names(b for _, b in pairs)]
    derivation = derive("paired difference", names, "score")
    return count_steps(found.difference, steps, found.interval, derivation, found.why)


def pair_steps(
    first: Iterable[ScoredStep], second: Iterable[ScoredStep]
) -> list[tuple[ScoredStep, ScoredStep]]:
    """Return the pairs of steps of two methods with the same item and seed."""
    others = {(scored.step.seed, scored.step.item): scored for scored in second}
    return [
        (scored, others[scored.step.seed, scored.step.item])
        for scored in first
        if (scored.step.seed, scored.step.item) in others
    ]


def read_tokens(one: ScoredStep, column: str) -> int:
    """Return a step's input tokens if `column` is `tokens_in`, otherwise its output tokens."""
    return one.score.tokens_in if column == "tokens_in" else one.score.tokens_out


def sum_tokens(steps: Steps, column: str) -> Cell:
    """Return the sum of a token column over a run; for several runs, return the mean of the sums."""
    if not steps:
        return leave_out("no step")
    runs = list_run_names(steps)
    total = sum(read_tokens(scored, column) for scored in steps)
    single = len(runs) == 1
    derivation = derive("sum" if single else "mean of the runs' sums", runs, column)
    return count_steps(total if single else total / len(runs), steps, None, derivation)


def average_tokens(steps: Steps, column: str) -> Cell:
    """Return the mean of a token column over steps."""
    if not steps:
        return leave_out("no step")
    mean = fsum(read_tokens(scored, column) for scored in steps) / len(steps)
    return count_steps(mean, steps, None, derive("mean", list_run_names(steps), column))


def average_models(steps: Steps, column: str) -> Cell:
    """Return the mean token count of the models that share a memory, as if each answered every step.

    A model's count is the mean over its turns times the stream's length. If all models have the same number
    of turns, the mean over models equals the actual count.
    """
    if not steps:
        return leave_out("no step")
    costs = []
    names = list_run_names(steps)
    for run in names:
        own = [scored for scored in steps if scored.step.run == run]
        for agent in dict.fromkeys(scored.step.agent for scored in own):
            turns = [read_tokens(scored, column) for scored in own if scored.step.agent == agent]
            costs.append((run, len(own) * fmean(turns)))
    means = [fmean(cost for run, cost in costs if run == name) for name in names]
    return count_steps(fmean(means), steps, None, derive("mean over models, by turn", names, column))


def _make_tokens(
    name: str, read: Callable[[Steps, str], Cell], column: str, form: str
) -> Measure[ScoredStep]:
    return Measure(name, lambda steps, where: read(steps, column), leave_out, form)


def _say_as_turns(steps: Steps, column: str) -> Cell:
    return leave_out("same as for this model's turns")


TOKENS = (
    _make_tokens("input tokens", sum_tokens, "tokens_in", "count"),
    _make_tokens("output tokens", sum_tokens, "tokens_out", "count"),
    _make_tokens("input tokens per step", average_tokens, "tokens_in", "mean"),
    _make_tokens("output tokens per step", average_tokens, "tokens_out", "mean"),
)
TOKENS_BY_MODEL = (
    _make_tokens("input tokens", average_models, "tokens_in", "count"),
    _make_tokens("output tokens", average_models, "tokens_out", "count"),
    _make_tokens("input tokens per step", _say_as_turns, "tokens_in", "mean"),
    _make_tokens("output tokens per step", _say_as_turns, "tokens_out", "mean"),
)
"""The token columns for methods with alternating models, computed as if each model answered every step."""


def join_tied(names: Sequence[str]) -> str:
    """Join the names of tied systems, such as `A, B and C`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
