"""The figures of `benchloom evaluate ragcheck` for people: warnings, counts, and a table a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tasks.ragcheck.evaluation import ALL
from tasks.ragcheck.rows import MEASURES, RULES
from tasks.systems.evaluation import clean

LABELS = {
    "word_recall": "word recall",
    "rouge_l": "ROUGE-L",
    "E2": "E2 (question)",
    "E3": "E3 (with reference)",
}


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print warnings, counts, and a table a part: means with their 95% intervals."""
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
    for dataset, measure, told in list_measures(figures["correctness"]):
        counted = [str(told[name]) for name in ("scored", "unsure", "failed")]
        table.add_row(escape(clean(dataset)), LABELS.get(measure, measure), *counted, spell(told))
    console.print(table)
    if figures["continuity"] is None:
        return
    console.print(
        f"{counts['conversations']} conversations of at most {figures['turns']} turns, "
        f"{counts['failed_conversations']} failed",
        highlight=False,
    )
    table = Table("dataset", "figure", "n", "mean or share")
    for dataset, own in figures["continuity"].items():
        for measure, told in own.items():
            table.add_row(escape(clean(dataset)), measure.replace("_", " "), str(told["n"]), spell(told))
    console.print(table)


def list_measures(correctness: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """List what has a value to show, all datasets first."""
    for dataset in sorted(correctness, key=lambda name: (name != ALL, name)):
        for measure in (*MEASURES, *RULES):
            told = correctness[dataset].get(measure)
            if told and (told["n"] > told["skipped"]):
                yield dataset, measure, told


def spell(told: Mapping[str, Any]) -> str:
    """Write a figure with its interval."""
    if told["value"] is None:
        return "-"
    beside = "" if told["low"] is None else f" ({told['low']:.3f}, {told['high']:.3f})"
    return f"{told['value']:.3f}{beside}"
