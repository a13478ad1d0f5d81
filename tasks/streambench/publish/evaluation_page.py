"""Stage: the page of an evaluation, and the stream as one can walk it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.models.calls import Call
from tasks.reports.embed import write_data
from tasks.reports.folder import BrowsedRows, write_page
from tasks.reports.frame import PAGES_FOLDER, open_templates
from tasks.reports.metrics import choose_column, write_lines
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.reports.systems_table import read_systems
from tasks.streambench.build.items import StreamItem
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.publish.curve_tables import group_curves
from tasks.streambench.publish.curves import CurvePoint
from tasks.streambench.publish.figure_file import StreamFigures, read_stream_figures
from tasks.streambench.publish.kind_tables import ConfusionMatrix
from tasks.streambench.publish.line_charts import CurveChart
from tasks.streambench.publish.page_panels import (
    SharePanel,
    draw_accuracies,
    draw_further,
    draw_seeds,
    draw_uses,
    list_points,
)
from tasks.streambench.publish.scores import StepScore
from tasks.streambench.publish.stream_cells import StreamTable, derive
from tasks.streambench.publish.stream_runs import ScoredStep, StreamRuns, gather_runs, list_run_names
from tasks.streambench.publish.walked_steps import index_steps, walk_runs
from tasks.streambench.solve.stream_step import StreamStep

PAGES = Path(__file__).parents[1] / "pages"
ASSETS = ("streambench.css", "streambench.js")
SUBTITLE = (
    "How methods do over a stream of inputs, each answered in turn and followed by one bit of feedback: "
    "right or wrong."
)


@dataclass(frozen=True)
class StreamContent:
    """What the page shows below its head. tables: by section of the page; about: name and text."""

    curves: Sequence[CurveChart]
    further: Sequence[CurveChart]
    uses: Sequence[SharePanel]
    seeds: Sequence[SharePanel]
    confusions: Sequence[ConfusionMatrix]
    tables: Mapping[str, Mapping[str, StreamTable]]
    about: Sequence[tuple[str, str]]


def evaluation_page(
    items: list[StreamItem],
    steps: list[StreamStep],
    steps_calls: list[Call],
    scores: list[StepScore],
    curves: list[CurvePoint],
    evaluation_figures: Path,
    entry: StreamEvaluation,
    key: str,
    out: Path,
    metrics: Path,
    bars: Path,
    lines: Path,
) -> Counts:
    """Write the page into the folder `out`; the prompts that one walks come from the calls.

    A run's steps lie in a file of their own, which the page loads when one of them is opened. The counts are
    of steps. Raises BadInput if `evaluation_figures` is of another form.
    """
    figures = read_stream_figures(evaluation_figures)
    runs = gather_runs(items, steps, scores, entry)
    points = group_curves(curves)
    index = index_steps(runs)
    means = figures.tables["means"]  # its last column is all datasets, or the one there is
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "streambench",
            key,
            f"Methods over a stream: {key}",
            SUBTITLE,
            make_headlines(runs, len(steps_calls)),
            figures.warnings,
            tell_finding(runs),
            list_stream_systems(figures),
        ),
        open_templates("tasks.streambench").get_template("streambench.html"),
        StreamContent(
            draw_accuracies(runs, points, figures.methods),
            draw_further(runs, points, figures.methods),
            draw_uses(figures),
            draw_seeds(figures),
            figures.confusions,
            split_stream_tables(figures.tables),
            list_stream_facts(figures, entry),
        ),
        assets=[PAGES_FOLDER / "tables.css", *(PAGES / asset for asset in ASSETS)],
        rows=BrowsedRows("rows", index, evaluation_figures.with_name("steps.parquet")),
        calls={},
        tables=figures.tables,
        metrics=metrics,
        bars=bars,
        groups=[choose_column("accuracy", means, means.columns[-1], labels=(-1,))],
    )
    write_lines(lines, {f"accuracy {model}": list_points(runs, points, model) for model in runs.models})
    for name, walked in walk_runs(runs, index, steps_calls).items():
        write_data(out / f"{name}.js", name, walked)
    return Counts(len(steps), len(steps), {})


def list_stream_systems(figures: StreamFigures) -> list[SystemFigure]:
    """List the share of right steps of each method, as a mean over its models."""
    means = figures.tables["means"]
    return list(
        read_systems(
            means, means.columns[-1], dataset=figures.stream, measure="steps right", symbol="accuracy"
        )
    )


def make_headlines(runs: StreamRuns, calls: int) -> list[Headline]:
    """Make the figures at the page's head, each with the rows that it comes from."""
    steps = runs.list_steps(runs.systems)
    names = list_run_names(steps)
    failed = sum(one.failed for one in steps)
    best = find_best(runs)
    return [
        Headline("steps", len(steps), f"{len(names)} runs", Derivation("count", (Selection("scores"),))),
        Headline("right", sum(one.step.bit for one in steps), "of them", derive("sum", names, "score")),
        Headline(
            "failed",
            failed,
            "without an answer: wrong",
            Derivation("count", (Selection("scores", {"failed": True}),)),
        ),
        *(
            [
                Headline(
                    "best share right",
                    best[1],
                    best[0],
                    derive("share of right steps", list_run_names(best[2]), "score"),
                )
            ]
            if best
            else []
        ),
        Headline("model calls", calls, "with the judge's", Derivation("count", (Selection("steps.calls"),))),
    ]


def find_best(runs: StreamRuns) -> tuple[str, float, list[ScoredStep]] | None:
    """Find the method with the highest share of right steps over its models and seeds, ablations aside."""
    found: list[tuple[str, float, list[ScoredStep]]] = []
    for choice in runs.choices:
        systems = [system for system in runs.select() if system.choice == choice]
        steps = runs.list_steps(systems)
        if steps:
            found.append((systems[0].title, sum(one.score.score for one in steps) / len(steps), steps))
    return max(found, key=lambda one: one[1]) if found else None


def tell_finding(runs: StreamRuns) -> str:
    """Tell in a sentence which method is right most often; empty without two methods."""
    best = find_best(runs)
    if best is None or len({system.choice for system in runs.select()}) < 2:
        return ""
    return f"{best[0]} is right most often: {100 * best[1]:.1f}% of its steps, over its models and seeds."


def split_stream_tables(tables: Mapping[str, StreamTable]) -> dict[str, dict[str, StreamTable]]:
    """Split the tables into those of the page's sections, by the beginning of their keys."""
    sections: dict[str, dict[str, StreamTable]] = {"means": {}, "time": {}, "pairs": {}, "tokens": {}}
    for key, table in tables.items():
        start = key.partition("-")[0]
        place = start if start in sections else "time" if start in ("times", "regrets") else "means"
        sections[place][key] = table
    return sections


def list_stream_facts(figures: StreamFigures, entry: StreamEvaluation) -> list[tuple[str, str]]:
    """List what was asked for."""
    return [
        ("Stream", figures.stream),
        ("Kind of items", figures.kind),
        ("Methods", ", ".join(figures.methods)),
        ("Models", ", ".join(figures.models)),
        ("Seeds", ", ".join(map(str, figures.seeds))),
        ("k", ", ".join(map(str, figures.k))),
        ("Embedder", entry.embedder),
        ("Steps of each stream", "all" if entry.steps is None else f"the first {entry.steps:,}"),
    ]
