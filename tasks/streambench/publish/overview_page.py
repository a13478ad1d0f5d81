"""Stage: write a page that compares methods over several streams (rows: methods, columns: datasets)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.parts import Browse, Component, PagePart, TableBlock, TextBlock
from tasks.reports.plurals import count_of
from tasks.reports.report_page import write_page
from tasks.reports.tables import FigureTable
from tasks.streambench.entries import StreamOverview
from tasks.streambench.joined_streams import (
    ReadEvaluation,
    StreamColumn,
    join_columns,
    list_models,
    read_evaluations,
)
from tasks.streambench.measures import NOT_RUN, join_tied
from tasks.streambench.tables import choose_tables, list_by_model
from tasks.streambench.tables_overview import tabulate_overview
from tasks.streambench.view import view_runs

EVALUATIONS = "evaluations.html"
SUBTITLE = (
    "This page compares methods on several streams, by their share of correct steps on each dataset. A "
    "method answers the inputs of a stream in order, and gets one bit of feedback after each answer."
)


def overview_page(
    streambench: Path,
    entry: StreamOverview,
    settings: Mapping[str, Any],
    key: str,
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page into the folder `out`; return counts of steps.

    - streambench: the folder of all streams.
    - settings: `streambench.evaluations.*`.

    Raises BadInput if an evaluation is not declared or has not run.
    """
    evaluations = read_evaluations(streambench, entry, settings)
    columns = join_columns(evaluations)
    tables = tabulate_overview(columns)
    means = tables["means"]
    by_model = list_by_model(tables, list_models(columns))
    pages = {evaluation.name: link_page(evaluation) for evaluation in evaluations}
    steps = sum(len(column.runs.steps) for column in columns)
    read = sum(len(evaluation.runs.steps) for evaluation in evaluations)
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "streambench",
            key,
            f"Methods on several streams: {key}",
            SUBTITLE,
            make_overview_headlines(columns, evaluations),
            [
                *list_overview_warnings(columns),
                *(f"{evaluation.name}: {line}" for evaluation in evaluations for line in evaluation.warnings),
            ],
            tell_best(by_model),
        ),
        [
            PagePart(
                "means",
                "By dataset",
                "By dataset",
                [
                    TextBlock(
                        "Each cell is the share of correct steps in percent, with its 95% interval. Each "
                        "column is a dataset of a stream."
                    ),
                    TableBlock(choose_tables(tables, "means", "gains", "model")),
                ],
            ),
            PagePart(
                "differences",
                "Differences",
                "Differences",
                [
                    TextBlock(
                        "Each cell is a method's difference from Zero-Shot with the same model, in "
                        "percentage points, with its 95% interval."
                    ),
                    TableBlock(choose_tables(tables, "differences")),
                ],
            ),
            PagePart(
                "tokens",
                "Tokens",
                "Tokens",
                [
                    TextBlock(
                        "Each cell is the number of input or output tokens for one stream of a dataset."
                    ),
                    TableBlock(choose_tables(tables, "tokens")),
                ],
            ),
            PagePart(
                "joined",
                "Joined evaluations",
                "Joined evaluations",
                [TableBlock(choose_tables(tables, "joined")), Component(EVALUATIONS, pages)],
            ),
            Browse("Runs", view_runs(columns, pages, streambench)),
        ],
        calls={},
        metrics=metrics,
        bars=bars,
        groups=[
            choose_column(" ".join(filter(None, ("accuracy", title, model))), table, title, labels=(-1,))
            for title in means.columns
            for model, table in by_model.items()
        ],
        tables=tables,
        package="tasks.streambench",
    )
    return Counts(read, steps, {"shown by another evaluation": read - steps} if read > steps else {})


def make_overview_headlines(
    columns: Sequence[StreamColumn], evaluations: Sequence[ReadEvaluation]
) -> list[Headline]:
    """Return the headline figures of the page, each with its source rows."""
    steps = [scored for column in columns for scored in column.runs.steps]

    def derive_all(measure: str, field: str = "") -> Derivation:
        parts = [column.derive_all(measure, field) for column in columns]
        return Derivation(measure, tuple(rows for part in parts for rows in part.rows), field)

    return [
        Headline(
            "datasets",
            len({column.dataset for column in columns}),
            f"in {count_of(len(evaluations), 'evaluation')}",
            Derivation("distinct", tuple(column.select_items() for column in columns), "dataset"),
        ),
        Headline(
            "methods",
            len({scored.step.method for scored in steps}),
            "with ablations",
            derive_all("distinct", "method"),
        ),
        Headline("steps", len(steps), "", derive_all("count")),
        Headline(
            "right", sum(scored.step.bit for scored in steps), "of all steps", derive_all("sum", "score")
        ),
    ]


def list_overview_warnings(columns: Sequence[StreamColumn]) -> list[str]:
    """Return a warning if the columns have different models, since their means are not comparable."""
    by_models: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        by_models.setdefault(tuple(sorted(column.runs.models)), []).append(column.title)
    if len(by_models) < 2:
        return []
    groups = "; ".join(f"{', '.join(titles)}: {', '.join(models)}" for models, titles in by_models.items())
    return [f"The columns cover different models ({groups}), so compare methods only within a column."]


def tell_best(by_model: Mapping[str, FigureTable]) -> str:
    """Return a sentence that names the most accurate methods by dataset; empty with fewer than two methods.

    by_model: the result of `list_by_model`. If a method was not run with all models, each pair of method and
    model is compared separately, and the names include the model.
    """
    means = by_model[""]
    if len(means.lines) < 2:
        return ""
    best: dict[str, list[str]] = {}
    for place, title in enumerate(means.columns):
        values = list_values(means, place)
        cells = [line.cells[place] for line in means.lines]
        if any(cell.value is None and cell.why != NOT_RUN for cell in cells):
            alone = {model: list_values(table, place) for model, table in by_model.items() if model}
            of_one = {name for names in alone.values() for name in names}
            values = {name: value for name, value in values.items() if name not in of_one}
            for model, names in alone.items():
                values |= {f"{name} ({model})": value for name, value in names.items()}
        highest = max(values.values(), default=None)
        tied = join_tied([name for name, value in values.items() if value == highest])
        best.setdefault(tied, []).append(title)
    parts = [f"{name} on {', '.join(titles)}" for name, titles in best.items() if name]
    return f"Most correct answers: {'; '.join(parts)}." if parts else ""


def list_values(table: FigureTable, place: int) -> dict[str, float]:
    """Map each method to its value in a column. place: the column's index."""
    return {line.label[-1]: value for line in table.lines if (value := line.cells[place].value) is not None}


def link_page(evaluation: ReadEvaluation) -> str:
    """Return the relative URL from an overview's page to an evaluation's page."""
    return f"../../streambench/{evaluation.name}/index.html"
