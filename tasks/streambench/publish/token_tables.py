"""Tables 8 to 11: tokens that go in and come out (appendix E)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tasks.streambench.publish.accuracy_tables import find_steps, number_model
from tasks.streambench.publish.stream_cells import (
    StreamCell,
    StreamLine,
    StreamTable,
    average_runs,
    average_steps,
    count_steps,
    derive,
    leave_out,
)
from tasks.streambench.publish.stream_runs import (
    SELF_STREAM,
    ZERO_SHOT,
    ScoredStep,
    StreamRuns,
    list_run_names,
    name_method,
)

MODEL_TABLES = ("8", "9", "10")
COLUMNS = ("tokens in", "tokens out", "in, a step", "out, a step")
FORM = ("count", "count", "mean", "mean")
NOTE = (
    "Of the answering calls alone: neither a judge's nor the embedder's, nor unscored answers. A stream's "
    "sum, averaged over seeds."
)
ESTIMATED = "The counts of some calls are estimates: their provider gave none."


def tabulate_tokens(runs: StreamRuns) -> dict[str, StreamTable]:
    """Make Tables 8 to 10, and on, one for each model; Table 11; and the mean over models."""
    tables = {
        f"tokens-{model}": _make_table(
            number_model(MODEL_TABLES, place), f"Tokens, {model}", _list_model_lines(runs, model), runs
        )
        for place, model in enumerate(runs.models)
    }
    gains = [
        StreamLine((model, runs.select(method=method, model=model)[0].title), _show_costs(steps))
        for model in runs.models
        for method in (ZERO_SHOT, SELF_STREAM)
        if (steps := find_steps(runs, method, model))
    ]
    tables["tokens-gains"] = _make_table("11", "Tokens of Table 3", gains, runs)
    means = []
    for choice in runs.choices:
        systems = [system for system in runs.select() if system.choice == choice]
        if systems:
            label = (runs.name_group(choice), name_method(choice))
            means.append(StreamLine(label, _show_costs(runs.list_steps(systems))))
    tables["tokens-means"] = _make_table("", "Tokens, mean over models", means, runs)
    return tables


def average_models(steps: Sequence[ScoredStep], column: str) -> StreamCell:
    """Average what each model of a shared memory would cost over the whole stream, over these models.

    A model's cost of a stream is that of its own turns, for each turn, times the stream's length; where all
    have as many turns the mean over models is what the turns cost.
    """
    if not steps:
        return leave_out("no step")
    costs = []
    for run in list_run_names(steps):
        own = [one for one in steps if one.step.run == run]
        for agent in dict.fromkeys(one.step.agent for one in own):
            turns = [read_tokens(one, column) for one in own if one.step.agent == agent]
            costs.append((run, len(own) * fmean(turns)))
    names = list_run_names(steps)
    means = [fmean(cost for run, cost in costs if run == name) for name in names]
    return count_steps(fmean(means), steps, None, derive("mean over models, by turn", names, column))


def read_tokens(one: ScoredStep, column: str) -> int:
    """Return tokens_in or tokens_out of a step."""
    return one.score.tokens_in if column == "tokens_in" else one.score.tokens_out


def _list_model_lines(runs: StreamRuns, model: str) -> list[StreamLine]:
    lines = []
    for system in runs.select(model=model):
        group, steps = runs.name_group(system.choice), runs.systems[system]
        if not system.shared:
            lines.append(StreamLine((group, system.title), _show_costs(steps)))
            continue
        lines.append(StreamLine((group, f"{system.title}, its turns"), _show_costs(steps)))
        cells = [average_models(steps, column) for column in ("tokens_in", "tokens_out")]
        more = [leave_out("as its turns"), leave_out("as its turns")]
        lines.append(StreamLine((group, f"{system.title}, mean over its models"), (*cells, *more)))
    return lines


def _show_costs(steps: Sequence[ScoredStep]) -> tuple[StreamCell, ...]:
    return (
        average_runs(steps, "tokens_in", lambda one: one.score.tokens_in),
        average_runs(steps, "tokens_out", lambda one: one.score.tokens_out),
        average_steps(steps, "tokens_in", lambda one: one.score.tokens_in),
        average_steps(steps, "tokens_out", lambda one: one.score.tokens_out),
    )


def _make_table(number: str, title: str, lines: Sequence[StreamLine], runs: StreamRuns) -> StreamTable:
    estimated = any(one.score.estimated for one in runs.list_steps(runs.systems))
    heads = ("model", "method") if number == "11" else ("", "method")
    return StreamTable(
        number, title, FORM, heads, COLUMNS, tuple(lines), (NOTE, *([ESTIMATED] if estimated else []))
    )
