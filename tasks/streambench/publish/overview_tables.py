"""The tables over several streams: a line a method, a column a dataset (section 4.3, appendix B)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.lineage.derivation import Derivation
from tasks.streambench.publish.accuracy_tables import (
    FAILED_NOTE,
    MODEL_TABLES,
    compare_gain,
    find_steps,
    number_model,
)
from tasks.streambench.publish.joined_streams import (
    ReadEvaluation,
    StreamColumn,
    find_alone,
    list_choices,
    list_models,
    list_unshown,
)
from tasks.streambench.publish.overview_tokens import tabulate_overview_tokens
from tasks.streambench.publish.stream_cells import (
    NOT_RUN,
    STEPS,
    StreamCell,
    StreamLine,
    StreamTable,
    leave_out,
    rate_right,
)
from tasks.streambench.publish.stream_runs import SELF_STREAM, ZERO_SHOT, ScoredStep, name_method

INTERVALS = "Intervals: Wilson's of one run; over several runs items are drawn whole."


def tabulate_overview(columns: Sequence[StreamColumn]) -> dict[str, StreamTable]:
    """Make every table of an overview, by key, in the order of the page."""
    return {
        "means": _tabulate_means(columns),
        "gains": _tabulate_gains(columns),
        **_tabulate_models(columns),
        "differences": _tabulate_differences(columns),
        **tabulate_overview_tokens(columns),
        "joined": _tabulate_joined(columns),
    }


def rate_column(column: StreamColumn, steps: Sequence[ScoredStep]) -> StreamCell:
    """Compute the share of right steps of a column; without steps the cell says so."""
    return column.place(rate_right(steps)) if steps else leave_out(NOT_RUN)


def _tabulate_means(columns: Sequence[StreamColumn]) -> StreamTable:
    lines = []
    for group, choice in list_choices(columns):
        found = [[system for system in column.runs.select() if system.choice == choice] for column in columns]
        cells = [
            rate_column(column, column.runs.list_steps(systems))
            for column, systems in zip(columns, found, strict=True)
        ]
        lines.append(StreamLine((group, name_method(choice)), tuple(cells)))
    return StreamTable(
        "2",
        "Right steps, mean over models",
        ("share",),
        ("", "method"),
        tuple(column.title for column in columns),
        tuple(lines),
        (
            "The mean over models and seeds; a method that shares a memory takes turns between the models, "
            f"and is one run. {FAILED_NOTE}",
            INTERVALS,
        ),
    )


def _tabulate_gains(columns: Sequence[StreamColumn]) -> StreamTable:
    titles = {choice.method: name_method(choice) for _, choice in list_choices(columns)}
    lines = []
    for model in list_models(columns):
        for method in (ZERO_SHOT, SELF_STREAM):
            found = [find_steps(column.runs, method, model) for column in columns]
            if any(found):
                cells = tuple(map(rate_column, columns, found))
                lines.append(StreamLine((model, titles[method]), cells))
    return StreamTable(
        "3",
        "A model without and with its own right answers",
        ("share",),
        ("model", "method"),
        tuple(column.title for column in columns),
        tuple(lines),
        ("What each gains, with intervals, stands under Differences.",),
    )


def _tabulate_models(columns: Sequence[StreamColumn]) -> dict[str, StreamTable]:
    tables = {}
    for place, model in enumerate(list_models(columns)):
        lines = [
            StreamLine((group, title), tuple(map(rate_column, columns, found)))
            for group, title, found in find_alone(columns, model)
        ]
        tables[f"model-{model}"] = StreamTable(
            number_model(MODEL_TABLES, place),
            f"Right steps, {model}",
            ("share",),
            ("", "method"),
            tuple(column.title for column in columns),
            tuple(lines),
            (FAILED_NOTE,),
        )
    return tables


def _tabulate_differences(columns: Sequence[StreamColumn]) -> StreamTable:
    lines = []
    for model in list_models(columns):
        bases = [find_steps(column.runs, ZERO_SHOT, model) for column in columns]
        for _, title, found in find_alone(columns, model):
            if found != bases:
                cells = [
                    column.place(compare_gain(own, base)) if own else leave_out(NOT_RUN)
                    for column, own, base in zip(columns, found, bases, strict=True)
                ]
                lines.append(StreamLine((model, title), tuple(cells)))
    return StreamTable(
        "",
        "Differences from Zero-Shot",
        ("difference",),
        ("model", "method"),
        tuple(column.title for column in columns),
        tuple(lines),
        (
            "Over the items and seeds that both have; the interval is a paired bootstrap's. A method that "
            "takes turns between models has no one Zero-Shot to differ from.",
        ),
    )


def _tabulate_joined(columns: Sequence[StreamColumn]) -> StreamTable:
    lines = [
        StreamLine(
            (column.title, column.kind, column.stream, source.name), tuple(_count_joined(column, source))
        )
        for column in columns
        for source in {one.name: one for one in column.sources.values()}.values()
    ]
    return StreamTable(
        "",
        "What is joined",
        ("count",),
        ("dataset", "kind", "stream", "evaluation"),
        ("items", "orders", "models", "runs", "steps", "failed"),
        tuple(lines),
        tuple(list_unshown(columns)),
    )


def _count_joined(column: StreamColumn, source: ReadEvaluation) -> Iterator[StreamCell]:
    """Count what a column has of one evaluation."""
    runs = [run for run, own in column.sources.items() if own is source]
    steps = [one for one in column.runs.list_steps(column.runs.systems) if one.step.run in set(runs)]
    failed = sum(one.failed for one in steps)
    chosen = column.select(source.folder, runs)

    def show(value: int, measure: str, field: str = "") -> StreamCell:
        return StreamCell(value, len(steps), 0, 0, None, STEPS, "", Derivation(measure, (chosen,), field))

    yield show(len({one.item.id for one in steps}), "distinct", "item")
    yield show(len({one.step.seed for one in steps}), "distinct", "seed")
    yield show(len({one.step.agent for one in steps}), "distinct", "agent")
    yield show(len(runs), "distinct", "run")
    yield show(len(steps), "count")
    yield show(failed, "sum", "failed")
