"""Declare tables over several streams: one row per method, one column per dataset (4.3, appendices B, E)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tasks.lineage.derivation import Derivation
from tasks.reports.declared import Measure, Slice, Table, Where
from tasks.reports.tables import Cell, FigureTable
from tasks.streambench.joined_streams import (
    StreamColumn,
    find_choice,
    list_choices,
    list_models,
    list_unshown,
)
from tasks.streambench.measures import (
    NOT_RUN,
    RIGHT,
    STEPS,
    Steps,
    average_over,
    compare_gain,
    leave_out,
    rate_right,
    sum_tokens,
)
from tasks.streambench.scored_steps import ZERO_SHOT, ScoredStep, list_run_names, name_method
from tasks.streambench.tables import (
    BY_GROUP,
    BY_MODEL,
    GAINED,
    TOKENS_NUMBERS,
    StepSlices,
    average_tokens_over,
    declare_means,
    declare_model,
    declare_tokens,
    number_model,
    slice_steps,
    tell_shared,
)

Columns = Sequence[StreamColumn]


def tabulate_overview(columns: Columns) -> dict[str, FigureTable]:
    """Return all tables of an overview, by key, in page order."""
    by_title = {column.title: column for column in columns}
    steps = [scored for column in columns for scored in column.runs.steps]
    datasets = [_slice_column(column.title, column) for column in columns]
    ways = [
        _slice_column(f"{column.title}, {way}", column, tokens=f"tokens_{way}")
        for column in columns
        for way in ("in", "out")
    ]
    right = replace(RIGHT, fill=_place(by_title, lambda steps, where: rate_right(steps)))
    summed = _place(by_title, lambda steps, where: sum_tokens(steps, str(where["tokens"])))
    tokens = Measure("tokens", summed, leave_out, "count")
    choices = [(group, name_method(choice), choice) for group, choice in list_choices(columns)]
    methods = [slice_steps((group, name), find_choice(columns, choice)) for group, name, choice in choices]
    gained = _slice_gained(columns)
    models = list(enumerate(list_models(columns)))
    alone = {
        model: [
            slice_steps((group, name), alone_with)
            for group, name, choice in choices
            if (alone_with := find_choice(columns, choice, model))
        ]
        for _, model in models
    }

    def find_every(where: Where) -> Steps:
        return by_title[str(where["column"])].runs.steps

    def declare_ways(number: str, title: str, heads: tuple[str, ...], rows: StepSlices) -> Table[ScoredStep]:
        declared = declare_tokens(number, title, heads, rows, steps)
        return replace(declared, measures=(tokens,), columns=ways)

    def count_tokens(number: str, title: str, heads: tuple[str, ...], rows: StepSlices) -> FigureTable:
        return declare_ways(number, title, heads, rows).fill(steps)

    means = declare_ways("", "Tokens, mean over models", BY_GROUP, methods)
    shared = tell_shared(*(column.runs.steps for column in columns))
    return {
        "means": declare_means(methods, datasets, average_over(right, find_every), shared).fill(steps),
        "gains": _declare_gains(gained, datasets, right).fill(steps),
        **{
            f"model-{model}": declare_model(place, model, alone[model], datasets, right).fill(steps)
            for place, model in models
        },
        "differences": _declare_differences(columns, datasets, by_title).fill(steps),
        **{
            f"tokens-{model}": count_tokens(
                number_model(TOKENS_NUMBERS, place), f"Tokens, {model}", BY_GROUP, alone[model]
            )
            for place, model in models
        },
        "tokens-gains": count_tokens("11", "Tokens for the runs in Table 3", BY_MODEL, gained),
        "tokens-means": average_tokens_over(means, find_every, shared).fill(steps),
        "joined": _declare_joined(columns, by_title).fill(steps),
    }


def _slice_column(name: str, column: StreamColumn, **where: str) -> Slice[ScoredStep]:
    return Slice(name, lambda scored: scored.column == column.title, {"column": column.title, **where})


def _place(
    columns: Mapping[str, StreamColumn], fill: Callable[[Steps, Where], Cell]
) -> Callable[[Steps, Where], Cell]:
    """Wrap a measure's function, so that the lineage of each cell names the column's artifacts."""
    return lambda steps, where: (
        columns[str(where["column"])].place(fill(steps, where)) if steps else leave_out(NOT_RUN)
    )


def _slice_gained(columns: Columns) -> StepSlices:
    titles = {choice.method: name_method(choice) for _, choice in list_choices(columns)}
    return [
        slice_steps((model, titles[method]), steps)
        for model in list_models(columns)
        for method in GAINED
        if (steps := [scored for column in columns for scored in column.runs.find_steps(method, model)])
    ]


def _declare_gains(rows: StepSlices, datasets: StepSlices, right: Measure[ScoredStep]) -> Table[ScoredStep]:
    title = "Models with and without a memory of their own correct answers"
    note = "The gains and their intervals are in the table “Differences from Zero-Shot”."
    return Table("3", title, BY_MODEL, rows, (right,), datasets, (note,))


def _declare_differences(
    columns: Columns, datasets: StepSlices, by_title: Mapping[str, StreamColumn]
) -> Table[ScoredStep]:
    def compare(steps: Steps, where: Where) -> Cell:
        base = by_title[steps[0].column].runs.find_steps(ZERO_SHOT, steps[0].system.models)
        return compare_gain(steps, base)

    rows = [
        slice_steps((model, name_method(choice)), steps)
        for model in list_models(columns)
        for _, choice in list_choices(columns)
        if choice.method != ZERO_SHOT and (steps := find_choice(columns, choice, model))
    ]
    difference = Measure("difference", _place(by_title, compare), leave_out, "difference")
    note = (
        "Each difference is computed over the items and seeds that both methods share. The interval of a "
        "difference is from a paired bootstrap. A method that alternates between models has no "
        "single Zero-Shot run to compare with."
    )
    return Table("", "Differences from Zero-Shot", BY_MODEL, rows, (difference,), datasets, (note,))


def _declare_joined(columns: Columns, by_title: Mapping[str, StreamColumn]) -> Table[ScoredStep]:
    """Declare the table of counts (items, orders, models, runs, steps) per dataset and evaluation."""

    def count(name: str, measure: str, field: str, read: Callable[[Steps], int]) -> Measure[ScoredStep]:
        def fill(steps: Steps, where: Where) -> Cell:
            chosen = by_title[steps[0].column].select(list_run_names(steps))
            return Cell(read(steps), len(steps), 0, None, STEPS, basis=Derivation(measure, chosen, field))

        return Measure(name, fill, leave_out, "count")

    rows = [
        slice_steps(
            (column.title, column.kind, column.stream, source.name),
            [scored for scored in column.runs.steps if column.sources[scored.step.run] is source],
        )
        for column in columns
        for source in {source.name: source for source in column.sources.values()}.values()
    ]
    measures = (
        count("items", "distinct", "item", lambda steps: len({scored.item.id for scored in steps})),
        count("orders", "distinct", "seed", lambda steps: len({scored.step.seed for scored in steps})),
        count("models", "distinct", "agent", lambda steps: len({scored.step.agent for scored in steps})),
        count("runs", "distinct", "run", lambda steps: len(list_run_names(steps))),
        count("steps", "count", "", len),
        count("failed", "sum", "failed", lambda steps: sum(scored.failed for scored in steps)),
    )
    heads = ("dataset", "kind", "stream", "evaluation")
    return Table("", "Joined evaluations", heads, rows, measures, notes=tuple(list_unshown(columns)))
