"""Print the figures of `benchloom evaluate ragcheck`: warnings, counts, and one table per part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tasks.ragcheck.baselines import MEASURES
from tasks.ragcheck.contexts import RULES
from tasks.ragcheck.evaluation import ALL
from tasks.ragcheck.evaluation_figures import IntervalFigure, MeasureFigure, WrittenRagFigures
from tasks.systems.evaluation import clean

LABELS = {
    "word_recall": "word recall",
    "rouge_l": "ROUGE-L",
    "E2": "E2 (question)",
    "E3": "E3 (with reference)",
}


def print_figures(figures: WrittenRagFigures) -> None:
    """Print warnings, counts, and one table per part: means with their 95% intervals."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    for warning in figures["warnings"]:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    counts = figures["counts"]
    console.print(
        escape(
            f"{figures['system']} on {clean(figures['dataset'])}: {counts['questions']} questions, "
            f"{counts['failed']} without an answer; {counts['grades']} grades, {counts['unscored']} unscored"
        ),
        highlight=False,
    )
    table = Table("dataset", "measure", "scored", "not sure", "failed", "mean")
    for dataset, measure, mean in list_measures(figures["correctness"]):
        counted = [str(mean["scored"]), str(mean["unsure"]), str(mean["failed"])]
        table.add_row(escape(clean(dataset)), LABELS.get(measure, measure), *counted, format_interval(mean))
    console.print(table)
    if figures["continuity"] is None:
        return
    console.print(
        f"{counts['conversations']} conversations of at most {figures['turns']} turns, "
        f"{counts['failed_conversations']} failed",
        highlight=False,
    )
    table = Table("dataset", "figure", "n", "mean or share")
    for dataset, measures in figures["continuity"].items():
        for measure, figure in measures.items():
            label = measure.replace("_", " ")
            table.add_row(escape(clean(dataset)), label, str(figure["n"]), format_interval(figure))
    console.print(table)


def list_measures(
    correctness: Mapping[str, Mapping[str, MeasureFigure]],
) -> Iterator[tuple[str, str, MeasureFigure]]:
    """Yield (dataset, measure, figure) for measures that were not skipped throughout; `all` comes first."""
    for dataset in sorted(correctness, key=lambda name: (name != ALL, name)):
        for measure in (*MEASURES, *RULES):
            figure = correctness[dataset].get(measure)
            if figure and figure["n"] > figure["skipped"]:
                yield dataset, measure, figure


def format_interval(figure: IntervalFigure) -> str:
    """Format a figure as `0.123 (0.100, 0.146)`; `-` if it is not defined."""
    if figure["value"] is None:
        return "-"
    interval = "" if figure["low"] is None else f" ({figure['low']:.3f}, {figure['high']:.3f})"
    return f"{figure['value']:.3f}{interval}"
