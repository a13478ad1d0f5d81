"""Print the figures of `benchloom evaluate grammar`: warnings, counts, and a table of rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from tasks.grammar.assess.assessment_figures import Rates
from tasks.grammar.assess.contrast import Contrast, CriteriaTest
from tasks.systems.evaluation import clean


@dataclass(frozen=True)
class EvaluationCounts:
    """Numbers of rows and groups, see `evaluation.count_rows`."""

    rows: int
    groups: int
    scored: int
    failed: int
    unscored: int
    grounded: int


@dataclass(frozen=True)
class EvaluationFigures:
    """The part of figures.json that is printed.

    rates: mode -> `all` or a criterion. hypothesis: by mode; None unless there are exactly two criteria.
    """

    system: str
    dataset: str
    warnings: tuple[str, ...]
    counts: EvaluationCounts
    criteria: tuple[str, ...]
    rates: Mapping[str, Mapping[str, Rates]]
    hypothesis: Mapping[str, CriteriaTest] | None


def print_figures(figures: Mapping[str, object]) -> None:
    """Print warnings, counts and the table: rates x100 with their 95% intervals. figures: of figures.json."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    shown = TypeAdapter(EvaluationFigures).validate_python(figures)
    console = Console()
    for warning in shown.warnings:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    counts = shown.counts
    console.print(
        escape(
            f"{shown.system} on {clean(shown.dataset)}: {counts.rows} questions of {counts.groups} groups, "
            f"{counts.scored} scored, {counts.failed} failed, {counts.unscored} unscored"
        ),
        highlight=False,
    )
    modes = list(shown.rates)
    table = Table("criterion", "scored", "figure", *(Column(mode, no_wrap=True) for mode in modes))
    for name, part in shown.rates["open"].items():
        head = [escape(clean(name)), f"{part.n_scored}/{part.n}"]
        columns = [_format_rates(shown.rates[mode][name]) for mode in modes]
        for label in columns[0]:
            table.add_row(*head, label, *(column[label] for column in columns))
            head = ["", ""]
    console.print(table)
    if "closed" not in modes:
        console.print("True or retrieved documents are not known: there is no closed mode.", highlight=False)
    elif counts.grounded < counts.rows:
        console.print(
            f"True and retrieved documents are known of {counts.grounded} of {counts.rows} questions; "
            "the others count in closed mode as they do in open mode.",
            highlight=False,
        )
    for mode, test in (shown.hypothesis or {}).items():
        if contrast := test.rates.get("accuracy"):
            console.print(f"{mode}: accuracy, {format_contrast(shown.criteria, contrast)}", highlight=False)


def format_contrast(criteria: Sequence[str], contrast: Contrast) -> str:
    """Format A - B x100 with its interval. criteria: A and B."""
    from rich.markup import escape

    a, b = (escape(clean(criterion)) for criterion in criteria)
    if contrast.difference is None or contrast.low is None or contrast.high is None:
        return f"{a} - {b}: not told"
    difference, low, high = (
        f"{100 * value:+.1f}" for value in (contrast.difference, contrast.low, contrast.high)
    )
    return f"{a} - {b}: {difference} ({low} to {high})"


def _format_rates(rates: Rates) -> dict[str, str]:
    return {
        "accuracy": format_rate(rates.accuracy, rates.ci.accuracy),
        "R": format_rate(rates.robustness, rates.ci.robustness),
        "Acc_db": format_rate(rates.retrieval_db_accuracy, rates.ci.retrieval_db_accuracy),
        "lambda": format_rate(rates.gap_share, rates.ci.gap_share),
    }


def format_rate(value: float | None, interval: tuple[float, float] | None) -> str:
    """Format a rate x100 with its interval, if it has one; `-` if it is undefined."""
    if value is None:
        return "-"
    beside = "" if interval is None else f" ({100 * interval[0]:.1f}, {100 * interval[1]:.1f})"
    return f"{100 * value:.1f}{beside}"
