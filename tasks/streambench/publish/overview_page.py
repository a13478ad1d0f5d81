"""Stage: evaluations of several streams on one page: methods in lines, a column a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.reports.folder import BrowsedRows, write_page
from tasks.reports.frame import PAGES_FOLDER, open_templates
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page, count_of
from tasks.reports.places import name_in_project
from tasks.streambench.entries import StreamOverview
from tasks.streambench.publish.joined_streams import (
    ReadEvaluation,
    StreamColumn,
    join_columns,
    read_evaluations,
)
from tasks.streambench.publish.overview_tables import tabulate_overview
from tasks.streambench.publish.stream_cells import StreamTable

PAGES = Path(__file__).parents[1] / "pages"
ASSETS = ("streambench.css", "overview.js")
SUBTITLE = (
    "How methods do over several streams: the share of right steps by dataset, each answered in turn and "
    "followed by one bit of feedback."
)


@dataclass(frozen=True)
class OverviewContent:
    """What the page shows below its head. pages: evaluation -> the address of its own page."""

    tables: Mapping[str, StreamTable]
    pages: Mapping[str, str]


@dataclass(frozen=True)
class ShownRun:
    """A run on the items of one dataset, as pages/overview.js lists it.

    scores: the artifact of its steps' scores, first: the id of its first one; page: of its evaluation.
    """

    id: str
    dataset: str
    evaluation: str
    method: str
    models: str
    seed: int
    k: int
    steps: int
    right: int
    failed: int
    unjudged: int
    tokens_in: int
    tokens_out: int
    scores: str
    first: str
    page: str


def overview_page(
    streambench: Path,
    entry: StreamOverview,
    settings: Mapping[str, Any],
    key: str,
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page into the folder `out`; the counts are of steps.

    streambench: the folder of all streams; settings: `streambench.evaluations.*`. Raises BadInput if an
    evaluation is not declared, or was not run.
    """
    evaluations = read_evaluations(streambench, entry, settings)
    columns = join_columns(evaluations)
    tables = tabulate_overview(columns)
    means = tables["means"]
    pages = {one.name: link_page(one) for one in evaluations}
    steps = sum(len(column.runs.list_steps(column.runs.systems)) for column in columns)
    read = sum(len(one.runs.list_steps(one.runs.systems)) for one in evaluations)
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "streambench",
            key,
            f"Methods over several streams: {key}",
            SUBTITLE,
            make_overview_headlines(columns, evaluations),
            [
                *list_overview_warnings(columns),
                *(f"{one.name}: {line}" for one in evaluations for line in one.warnings),
            ],
            tell_best(means),
        ),
        open_templates("tasks.streambench").get_template("overview.html"),
        OverviewContent(tables, pages),
        assets=[PAGES_FOLDER / "tables.css", *(PAGES / asset for asset in ASSETS)],
        rows=BrowsedRows("rows", list(show_runs(columns, pages)), evaluations[0].folder / "scores.parquet"),
        calls={},
        tables=tables,
        metrics=metrics,
        bars=bars,
        groups=[choose_column(f"accuracy {title}", means, title, labels=(-1,)) for title in means.columns],
    )
    return Counts(read, steps, {"shown by another evaluation": read - steps} if read > steps else {})


def make_overview_headlines(
    columns: Sequence[StreamColumn], evaluations: Sequence[ReadEvaluation]
) -> list[Headline]:
    """Make the figures at the page's head, each with the rows that it comes from."""
    steps = [one for column in columns for one in column.runs.list_steps(column.runs.systems)]

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
            len({one.step.method for one in steps}),
            "with ablations",
            derive_all("distinct", "method"),
        ),
        Headline("steps", len(steps), "", derive_all("count")),
        Headline("right", sum(one.step.bit for one in steps), "of them", derive_all("sum", "score")),
    ]


def list_overview_warnings(columns: Sequence[StreamColumn]) -> list[str]:
    """Warn where columns are not of the same models, so that their means are of different ones."""
    by_models: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        by_models.setdefault(tuple(sorted(column.runs.models)), []).append(column.title)
    if len(by_models) < 2:
        return []
    groups = "; ".join(f"{', '.join(titles)}: {', '.join(models)}" for models, titles in by_models.items())
    return [f"The columns are not of the same models, so Table 2 averages over different ones ({groups})."]


def tell_best(means: StreamTable) -> str:
    """Tell in a sentence which methods are right most often on which datasets; empty without two methods."""
    if len(means.lines) < 2:
        return ""
    best: dict[str, list[str]] = {}
    for place, title in enumerate(means.columns):
        values = {
            line.label[-1]: value for line in means.lines if (value := line.cells[place].value) is not None
        }
        best.setdefault(max(values, key=lambda name: values[name]), []).append(title)
    parts = [f"{name} on {', '.join(titles)}" for name, titles in best.items()]
    return f"Right most often: {'; '.join(parts)}."


def link_page(evaluation: ReadEvaluation) -> str:
    """Address an evaluation's own page from an overview's."""
    return f"../../streambench/{evaluation.name}/index.html"


def show_runs(columns: Sequence[StreamColumn], pages: Mapping[str, str]) -> Iterator[ShownRun]:
    """List the runs by column."""
    for column in columns:
        for system, steps in column.runs.systems.items():
            for run in dict.fromkeys(one.step.run for one in steps):
                own = [one for one in steps if one.step.run == run]
                source = column.sources[run]
                yield ShownRun(
                    id=f"{source.name}|{column.title}|{run}",
                    dataset=column.title,
                    evaluation=source.name,
                    method=system.title,
                    models=system.models,
                    seed=own[0].step.seed,
                    k=own[0].step.k,
                    steps=len(own),
                    right=sum(one.step.bit for one in own),
                    failed=sum(one.failed for one in own),
                    unjudged=sum(one.unjudged for one in own),
                    tokens_in=sum(one.score.tokens_in for one in own),
                    tokens_out=sum(one.score.tokens_out for one in own),
                    scores=name_in_project(source.folder / "scores.parquet"),
                    first=own[0].score.id,
                    page=pages[source.name],
                )
