"""Stage: write an evaluation's page, with a viewer of all steps, tables and charts.

The charts show accuracy, regret and memory size over time, and the StreamBench paper's Figures 2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.models.calls import Call
from tasks.reports.charts import Axis, Plot, Point, Scale, Series, draw_lines, thin_out
from tasks.reports.embed import write_data
from tasks.reports.figures_file import read_figures
from tasks.reports.metrics import SeriesPoint, choose_column, write_lines
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.parts import (
    Browse,
    Charts,
    Component,
    Head,
    PagePart,
    Parts,
    TableBlock,
    TextBlock,
    make_about_part,
)
from tasks.reports.plurals import count_of
from tasks.reports.report_page import write_page
from tasks.reports.tables import FigureTable, read_systems
from tasks.scoring.statistics import Interval
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.released_order import TITLES
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.measures import choose_shared, derive, join_tied
from tasks.streambench.publish.evaluation_figures import StreamFigures
from tasks.streambench.score.curves import CurvePoint
from tasks.streambench.score.scores import StepScore
from tasks.streambench.scored_steps import ScoredStep, StreamRuns, StreamSystem, gather_runs, list_run_names
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.tables import choose_tables, list_by_model
from tasks.streambench.tables_curves import slice_points
from tasks.streambench.view import show_runs, view_steps

PAGES = Path(__file__).parents[1] / "pages"
ASSETS = ("streambench.css", "streambench.js")
CONFUSIONS = "confusions.html"
RIGHT_TABLES = ("means", "gains", "model", "memories", "uses", "seeds", "kinds", "values", "readings")
SUBTITLE = (
    "This page compares methods that answer a stream of inputs in order. After each answer, a method gets "
    "one bit of feedback: right or wrong."
)
SCALE = "share of correct steps, from 0 to 100"


@dataclass(frozen=True)
class Traced:
    """A measure to plot over time. note: suffix of the chart's title. end: format for the last value."""

    note: str
    read: Callable[[CurvePoint], float]
    end: str
    axis: Axis
    has_band: bool = False


ACCURACY = Traced("", lambda point: point.accuracy, "{:.1%}", Axis(bottom=0, top=1, form="share"), True)
REGRET = Traced(": regret", lambda point: point.regret, "{:,.2f}", Axis())
MEMORY = Traced(": memory", lambda point: point.memory_size, "{:,.2f}", Axis())


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
    """Write the page into the folder `out`, and return counts of steps.

    The steps of each run, with prompts from `steps_calls`, are in a separate file, which the page loads when
    a step is opened. Raises BadInput if the format of `evaluation_figures` is invalid.
    """
    figures = read_figures(evaluation_figures, StreamFigures)
    runs = gather_runs(items, steps, scores, entry)
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "streambench",
            key,
            f"Methods on a stream: {key}",
            SUBTITLE,
            make_headlines(runs, len(steps_calls)),
            figures.warnings,
            tell_finding(runs),
            list(
                read_systems(
                    figures.tables["seeds"],
                    "mean",
                    dataset=figures.stream,
                    measure="accuracy",
                    symbol="accuracy",
                )
            ),
        ),
        make_parts(figures, runs, curves, entry, evaluation_figures.with_name("steps.parquet")),
        calls={},
        metrics=metrics,
        bars=bars,
        groups=[
            choose_column(f"accuracy {model}".rstrip(), table, table.columns[0], labels=(-1,))
            for model, table in list_by_model(figures.tables, figures.models).items()
        ],
        tables=figures.tables,
        assets=[PAGES / asset for asset in ASSETS],
        package="tasks.streambench",
    )
    write_lines(lines, {f"accuracy {model}": list_points(runs, curves, model) for model in runs.models})
    for name, shown in show_runs(runs, steps_calls).items():
        write_data(out / f"{name}.js", name, shown)
    return Counts(len(steps), len(steps), {})


def make_parts(
    figures: StreamFigures,
    runs: StreamRuns,
    curves: Sequence[CurvePoint],
    entry: StreamEvaluation,
    artifact: Path,
) -> Parts:
    """Return the parts of the page below its head. artifact: the file with the steps."""
    tables = figures.tables
    uses, seeds = draw_uses(figures.tables["uses"]), draw_seeds(figures.tables["seeds"], figures.models)
    return [
        PagePart(
            "curves",
            "Over time",
            "Over time",
            [
                TextBlock(
                    "The charts show the share of correct steps among the first t steps, averaged over "
                    "seeds. Each band extends one standard error above and below the mean. The standard "
                    "error is over seeds, with n - 1 in the denominator. Ablations are shown only in "
                    "Figure 2."
                ),
                Charts(draw_over_time(runs, curves, (ACCURACY,))),
                Head("Regret compared with the best method, and entries in the memory"),
                Charts(draw_over_time(runs, curves, (REGRET, MEMORY))),
                TableBlock(choose_tables(tables, "times", "regrets")),
            ],
        ),
        PagePart(
            "means",
            "Correct steps",
            "Means",
            [
                TextBlock(
                    "Shares are in percent, with 95% intervals. A step counts as wrong if its call failed. "
                    "Every n includes failed and unjudged steps."
                ),
                TableBlock(choose_tables(tables, *RIGHT_TABLES)),
            ],
        ),
        PagePart("uses", "Selection of past steps (Figure 2)", "Ablation", [Charts(uses)] if uses else []),
        PagePart(
            "confusions",
            "Confusions (Figure 3)",
            "Confusions",
            [
                TextBlock(
                    "Columns are answers and rows are true labels, counted over all seeds. The matrices "
                    "show the labels that are confused most often. None: there is no answer, or no label "
                    "could be parsed from it."
                ),
                Component(CONFUSIONS, figures.confusions),
            ]
            if figures.confusions
            else [],
        ),
        PagePart(
            "seeds",
            "Orders of the stream (Figure 4)",
            "Seeds",
            [TextBlock("The charts show the mean and the standard error over seeds."), Charts(seeds)]
            if seeds
            else [],
        ),
        PagePart(
            "pairs",
            "Pairwise comparison of methods",
            "Pairs",
            [
                TextBlock(
                    "The tables compare two methods at a time over the same sequence of items. Each "
                    "difference is between the two methods' shares of correct steps, in percentage points, "
                    "with a 95% interval and a test."
                ),
                TableBlock(choose_tables(tables, "pairs")),
            ],
        ),
        PagePart("tokens", "Tokens", "Tokens", [TableBlock(choose_tables(tables, "tokens"))]),
        Browse("The stream", view_steps(runs, artifact)),
        make_about_part(list_stream_facts(figures, entry)),
    ]


def make_headlines(runs: StreamRuns, calls: int) -> list[Headline]:
    """Return the headline figures of the page, each with its source rows."""
    steps = runs.steps
    names = list_run_names(steps)
    failed = sum(scored.failed for scored in steps)
    best = find_best(runs)
    return [
        Headline(
            "steps", len(steps), count_of(len(names), "run"), Derivation("count", (Selection("scores"),))
        ),
        Headline(
            "right", sum(scored.step.bit for scored in steps), "of all steps", derive("sum", names, "score")
        ),
        Headline(
            "failed",
            failed,
            "no answer; counted as wrong",
            Derivation("count", (Selection("scores", {"failed": True}),)),
        ),
        *(
            [
                Headline(
                    "best share right",
                    best[1],
                    join_tied(best[0]) + (" (a tie)" if len(best[0]) > 1 else ""),
                    derive("share of right steps", list_run_names(best[2]), "score"),
                )
            ]
            if best
            else []
        ),
        Headline(
            "model calls",
            calls,
            "including the judge's calls",
            Derivation("count", (Selection("steps.calls"),)),
        ),
    ]


def find_best(runs: StreamRuns) -> tuple[list[str], float, Sequence[ScoredStep]] | None:
    """Return the most accurate methods' names, their accuracy, and the first one's steps; None without runs.

    Accuracies are means over the models that ran with all methods; ablations are ignored. If a method has no
    comparable mean, each pair of method and model is ranked separately, and the names include the model.
    """
    made: dict[str, list[ScoredStep]] = {}
    for system in runs.select():
        made.setdefault(system.title, []).extend(runs.systems[system])
    chosen = {name: choose_shared(steps, runs.steps) for name, steps in made.items()}
    if any(why for _, why in chosen.values()):
        by_name = {f"{system.title} ({system.models})": runs.systems[system] for system in runs.select()}
    else:
        by_name = {name: steps for name, (steps, _) in chosen.items()}
    found = [
        (name, sum(scored.score.score for scored in steps) / len(steps), steps)
        for name, steps in by_name.items()
    ]
    highest = max((share for _, share, _ in found), default=0.0)
    best = [method for method in found if method[1] == highest]
    return ([name for name, _, _ in best], highest, best[0][2]) if best else None


def tell_finding(runs: StreamRuns) -> str:
    """Return a sentence that names the most accurate method; empty if there are fewer than two methods."""
    best = find_best(runs)
    if best is None or len({system.choice for system in runs.select()}) < 2:
        return ""
    share = f"{100 * best[1]:.1f}% of the steps."
    if len(best[0]) > 1:
        return f"{join_tied(best[0])} tie for the most correct answers: {share}"
    return f"{best[0][0]} has the most correct answers: {share}"


def list_stream_facts(figures: StreamFigures, entry: StreamEvaluation) -> list[tuple[str, str]]:
    """Return the evaluation's settings as pairs (name, value)."""
    return [
        ("Stream", figures.stream),
        ("Kind of items", figures.kind),
        ("Methods", ", ".join(figures.methods)),
        ("Models", ", ".join(figures.models)),
        ("Seeds", ", ".join(map(str, figures.seeds))),
        ("k", ", ".join(map(str, figures.k))),
        ("Order", TITLES[figures.order]),
        ("Rule for parsing replies", figures.reading),
        ("Scoring rule", figures.rule or "the metric's default"),
        ("Embedder", entry.embedder),
        ("Steps per stream", "all" if entry.steps is None else f"the first {entry.steps:,}"),
    ]


def draw_over_time(runs: StreamRuns, curves: Iterable[CurvePoint], traced: Sequence[Traced]) -> list[Plot]:
    """Return one chart over time per measure and model."""
    points = sorted(curves, key=lambda point: point.position)
    return [
        draw_lines(
            f"{model}{shown.note}",
            list(_trace(runs, points, model, shown).values()),
            Axis("step"),
            shown.axis,
        )
        for shown in traced
        for model in runs.models
    ]


def _trace(
    runs: StreamRuns, points: Sequence[CurvePoint], model: str, shown: Traced
) -> dict[StreamSystem, Series]:
    """Return the series of a model's systems, without ablations; each method has a fixed colour."""
    labels = [choice.label for choice in runs.choices]
    found = {}
    for system, row in zip(runs.systems, slice_points(runs), strict=True):
        curve = row.choose(points) if model in system.agents and not system.ablated else ()
        if curve:
            name = f"{system.title} ({system.models})" if system.shared else system.title
            traced = [
                Point(point.position, shown.read(point), _find_band(point) if shown.has_band else None)
                for point in curve
            ]
            place = labels.index(system.choice.label)
            found[system] = Series(name, traced, place, shown.end.format(traced[-1].y))
    return found


def _find_band(point: CurvePoint) -> Interval | None:
    """Return the accuracy plus and minus one standard error over seeds; None for one seed."""
    return None if point.error is None else (point.accuracy - point.error, point.accuracy + point.error)


def list_points(runs: StreamRuns, curves: Iterable[CurvePoint], model: str) -> list[SeriesPoint]:
    """Return the points of a model's accuracy chart."""
    points = sorted(curves, key=lambda point: point.position)
    return [
        SeriesPoint(int(point.x), point.y, point.interval, system.title)
        for system, line in _trace(runs, points, model, ACCURACY).items()
        for point in thin_out(line.points)
    ]


def draw_uses(table: FigureTable) -> list[Scale]:
    """Return the charts of StreamBench's Figure 2 from its table; empty if no ablation was run."""
    if all(cell.value is None for line in table.lines for cell in line.cells[1:-1]):
        return []
    return [
        Scale(
            " · ".join(line.label),
            [
                (name, cell)
                for name, cell in zip(table.columns, line.cells, strict=True)
                if cell.value is not None
            ],
            note=SCALE,
            form="share",
        )
        for line in table.lines
    ]


def draw_seeds(table: FigureTable, models: Sequence[str]) -> list[Scale]:
    """Return the charts of StreamBench's Figure 4 from its table: means and standard errors per model.

    Empty if every system has only one seed. Methods with a shared memory are in the chart of every model.
    """
    if all(line.cells[1].value is None for line in table.lines):
        return []
    charts = []
    for model in models:
        lines = []
        for line in table.lines:
            mean, error = line.cells[0], line.cells[1].value
            if mean.value is not None and model in line.label[0].split(" + "):
                reach = (
                    None if error is None else (max(mean.value - error, 0.0), min(mean.value + error, 1.0))
                )
                seeds = sum(cell.value is not None for cell in line.cells[2:])
                spread = "one seed" if error is None else f"{seeds} seeds, ± {100 * error:.1f}"
                lines.append((f"{line.label[1]}, {spread}", replace(mean, interval=reach)))
        charts.append(Scale(model, lines, note=f"{SCALE}, with one standard error", form="share"))
    return charts
