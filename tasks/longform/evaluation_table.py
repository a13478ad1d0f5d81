"""Print the figures of `benchloom evaluate longform`: warnings, counts, and a table of what was measured."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, TypeAdapter

from tasks.longform.judge.labels import STEPS
from tasks.reports.figure_cells import FigureCell
from tasks.systems.evaluation import clean

LABELS = {
    "match rate": "match rate, conclusive (0 to 1)",
    "mean score": "mean score, interpretive (1 to 5)",
    "queries": "queries",
    "valid queries": "valid queries",
    "answer words": "words of the answer",
    "reviews": "reviewers",
    "meta_reviews": "meta-reviewers",
    "revisions": "after revision",
}


class PrintedFigures(BaseModel):
    """The part of figures.json that is printed. steps: step -> kind of peers; empty if none was reviewed."""

    system: str
    dataset: str
    warnings: tuple[str, ...]
    counts: Mapping[str, int]
    answers: Mapping[str, FigureCell]
    steps: Mapping[str, Mapping[str, FigureCell]]


def print_figures(figures: Mapping[str, object]) -> None:
    """Print warnings, counts and the table: figures with their 95% intervals. figures: of figures.json."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = TypeAdapter(PrintedFigures).validate_python(figures)
    console, counts = Console(), shown.counts
    for warning in shown.warnings:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    line = (
        f"{shown.system} on {clean(shown.dataset)}: {counts['items']} items, {counts['scored']} scored, "
        f"{counts['failed']} failed, {counts['unscored']} unscored"
    )
    console.print(escape(line), highlight=False)
    table = Table("measure", "n", "without", "figure")
    for name, cell in shown.answers.items():
        table.add_row(LABELS[name], str(cell.n), str(cell.failed), format_cell(cell))
    for step in STEPS:
        for name, cell in shown.steps.get(step, {}).items():
            label = f"{step} Perfect, {LABELS[name]}"
            table.add_row(label, str(cell.n), str(cell.failed), format_cell(cell))
    console.print(table)
    if not shown.steps:
        console.print("No plan was told with an answer: no step was reviewed.", highlight=False)


def format_cell(cell: FigureCell) -> str:
    """Format a figure with its interval, if it has one; `-` if it is undefined."""
    if cell.value is None:
        return "-"
    beside = "" if cell.interval is None else f" ({cell.interval[0]:.2f}, {cell.interval[1]:.2f})"
    return f"{cell.value:.2f}{beside}"
