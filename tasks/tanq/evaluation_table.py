"""Print the figures of `benchloom evaluate tanq`: warnings, counts, and relative mapping similarity."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, TypeAdapter

from tasks.reports.figure_cells import FigureCell, format_mean
from tasks.systems.evaluation import clean

Rms = Mapping[str, Mapping[str, FigureCell]]


class PrintedScores(BaseModel):
    """The part of figures.json that is printed."""

    system: str
    dataset: str
    warnings: tuple[str, ...]
    counts: Mapping[str, int]
    rms: Rms
    kinds: Mapping[str, Rms]
    failure_kinds: Mapping[str, int]


def print_figures(figures: Mapping[str, object]) -> None:
    """Print warnings, counts, and means x100 with their 95% intervals. figures: of figures.json."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = TypeAdapter(PrintedScores).validate_python(figures)
    console, counts = Console(), shown.counts
    for warning in shown.warnings:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    line = (
        f"{shown.system} on {clean(shown.dataset)}: {counts['items']} items, {counts['scored']} scored, "
        f"{counts['failed']} failed, {counts['no_table']} without a table"
    )
    console.print(escape(line), highlight=False)
    table = Table("questions", "rule", "n", "without", "precision", "recall", "F1")
    for name, rms in (("all", shown.rms), *shown.kinds.items()):
        for rule, cells in rms.items():
            numbers = [format_mean(cells[figure]) for figure in ("precision", "recall", "f1")]
            table.add_row(name, rule, str(cells["f1"].n), str(cells["f1"].failed), *numbers)
    console.print(table)
    failures = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in shown.failure_kinds.items())
    console.print(escape(f"failures: {failures or 'none'}"), highlight=False)
