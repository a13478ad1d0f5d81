"""Print the figures of `benchloom evaluate streambench`: warnings, counts, and a line a method."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, TypeAdapter

from tasks.reports.figure_cells import FigureCell, format_mean
from tasks.systems.evaluation import clean


class PrintedMethod(BaseModel):
    """One method's figures."""

    accuracy: FigureCell
    first_half: FigureCell
    second_half: FigureCell
    failed: int
    seeds: int
    memory: float


class PrintedStreams(BaseModel):
    """The part of figures.json that is printed."""

    system: str
    dataset: str
    warnings: tuple[str, ...]
    counts: Mapping[str, int]
    methods: Mapping[str, PrintedMethod]


def print_figures(figures: Mapping[str, object]) -> None:
    """Print warnings, counts, and accuracies x100 with their 95% intervals. figures: of figures.json."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    shown = TypeAdapter(PrintedStreams).validate_python(figures)
    console, counts = Console(), shown.counts
    for warning in shown.warnings:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    line = (
        f"{shown.system} on {clean(shown.dataset)}: {counts['items']} items, {counts['steps']} steps, "
        f"{counts['right']} right, {counts['failed']} without an answer, "
        f"{counts['unjudged']} without a verdict"
    )
    console.print(escape(line), highlight=False)
    table = Table(
        Column("method", no_wrap=True),
        "seeds",
        "n",
        "failed",
        "accuracy",
        "first half",
        "second half",
        "memory",
    )
    for name, own in shown.methods.items():
        table.add_row(
            escape(name),
            str(own.seeds),
            str(own.accuracy.n),
            str(own.failed),
            *(format_mean(cell) for cell in (own.accuracy, own.first_half, own.second_half)),
            f"{own.memory:.0f}",
        )
    console.print(table)
