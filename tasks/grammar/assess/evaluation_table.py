"""The figures of `benchloom evaluate grammar` for people: warnings, counts, and a table of rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.systems.evaluation import clean

RATES = {
    "accuracy": "accuracy",
    "robustness": "R",
    "retrieval_db_accuracy": "Acc_db",
    "lambda": "lambda",
}


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print warnings, counts and the table: rates x100 with their 95% intervals."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    console = Console()
    for warning in figures["warnings"]:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    counts = figures["counts"]
    states = ", ".join(f"{counts[state]} {state}" for state in ("scored", "failed", "unscored"))
    console.print(
        escape(
            f"{figures['system']} on {clean(figures['dataset'])}: {counts['rows']} questions of "
            f"{counts['groups']} groups, {states}"
        ),
        highlight=False,
    )
    modes = list(figures["rates"])
    table = Table("criterion", "scored", "figure", *(Column(mode, no_wrap=True) for mode in modes))
    for name, part in figures["rates"]["open"].items():
        head = [escape(clean(name)), f"{part['n_scored']}/{part['n']}"]
        for rate, label in RATES.items():
            table.add_row(*head, label, *(spell(figures["rates"][mode][name], rate) for mode in modes))
            head = ["", ""]
    console.print(table)
    if "closed" not in modes:
        console.print("True or retrieved documents are not known: there is no closed mode.", highlight=False)
    elif counts["grounded"] < counts["rows"]:
        console.print(
            f"True and retrieved documents are known of {counts['grounded']} of {counts['rows']} questions; "
            "the others count in closed mode as they do in open mode.",
            highlight=False,
        )
    for mode, tests in (figures["hypothesis"] or {}).items():
        if contrast := tests["rates"].get("accuracy"):
            console.print(
                f"{mode}: accuracy, {describe_contrast(figures['criteria'], contrast)}", highlight=False
            )


def describe_contrast(criteria: Sequence[str], contrast: Mapping[str, Any]) -> str:
    """Write A minus B with its interval."""
    from rich.markup import escape

    a, b = (escape(clean(criterion)) for criterion in criteria)
    if contrast["difference"] is None or contrast["low"] is None:
        return f"{a} - {b}: not told"
    spelt = [f"{100 * contrast[name]:+.1f}" for name in ("difference", "low", "high")]
    return f"{a} - {b}: {spelt[0]} ({spelt[1]} to {spelt[2]})"


def spell(part: Mapping[str, Any], rate: str) -> str:
    """Write a rate x100 with its interval."""
    value, interval = part[rate], part["ci"][rate]
    if value is None:
        return "-"
    beside = "" if interval is None else f" ({100 * interval[0]:.1f}, {100 * interval[1]:.1f})"
    return f"{100 * value:.1f}{beside}"
