"""Tables 8 to 11 over several streams: tokens of a stream, in and out, by dataset (appendix E)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.streambench.publish.accuracy_tables import find_steps, number_model
from tasks.streambench.publish.joined_streams import StreamColumn, find_alone, list_choices, list_models
from tasks.streambench.publish.stream_cells import (
    NOT_RUN,
    StreamCell,
    StreamLine,
    StreamTable,
    average_runs,
    leave_out,
)
from tasks.streambench.publish.stream_runs import SELF_STREAM, ZERO_SHOT, ScoredStep, name_method
from tasks.streambench.publish.token_tables import ESTIMATED, MODEL_TABLES, NOTE


def tabulate_overview_tokens(columns: Sequence[StreamColumn]) -> dict[str, StreamTable]:
    """Make Tables 8 to 10, and on, one for each model; Table 11; and the mean over models."""
    tables = {
        f"tokens-{model}": _make_table(
            number_model(MODEL_TABLES, place),
            f"Tokens, {model}",
            ("", "method"),
            columns,
            [
                StreamLine((group, title), tuple(_show_costs(columns, found)))
                for group, title, found in find_alone(columns, model)
            ],
        )
        for place, model in enumerate(list_models(columns))
    }
    titles = {choice.method: name_method(choice) for _, choice in list_choices(columns)}
    gains = [
        StreamLine((model, titles[method]), tuple(_show_costs(columns, found)))
        for model in list_models(columns)
        for method in (ZERO_SHOT, SELF_STREAM)
        if any(found := [find_steps(column.runs, method, model) for column in columns])
    ]
    tables["tokens-gains"] = _make_table("11", "Tokens of Table 3", ("model", "method"), columns, gains)
    means = [
        StreamLine((group, name_method(choice)), tuple(_show_costs(columns, found)))
        for group, choice in list_choices(columns)
        for found in [
            [
                column.runs.list_steps(one for one in column.runs.select() if one.choice == choice)
                for column in columns
            ]
        ]
    ]
    tables["tokens-means"] = _make_table("", "Tokens, mean over models", ("", "method"), columns, means)
    return tables


def _show_costs(
    columns: Sequence[StreamColumn], found: Sequence[Sequence[ScoredStep]]
) -> Iterator[StreamCell]:
    for column, steps in zip(columns, found, strict=True):
        if steps:
            yield column.place(average_runs(steps, "tokens_in", lambda one: one.score.tokens_in))
            yield column.place(average_runs(steps, "tokens_out", lambda one: one.score.tokens_out))
        else:
            yield from (leave_out(NOT_RUN), leave_out(NOT_RUN))


def _make_table(
    number: str,
    title: str,
    heads: tuple[str, str],
    columns: Sequence[StreamColumn],
    lines: Sequence[StreamLine],
) -> StreamTable:
    estimated = any(
        one.score.estimated for column in columns for one in column.runs.list_steps(column.runs.systems)
    )
    return StreamTable(
        number,
        title,
        ("count",),
        heads,
        tuple(f"{column.title}, {way}" for column in columns for way in ("in", "out")),
        tuple(lines),
        (NOTE, *([ESTIMATED] if estimated else [])),
    )
