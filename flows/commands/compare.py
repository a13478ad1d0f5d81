"""`benchloom compare`: two systems, runs, nights or revisions, in pairs over the same items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.markup import escape

from flows.commands.cli_columns import print_columns
from flows.comparing.sides import Paired, Sides, join_names, pair_strands
from tasks.console import CleanConsole
from tasks.errors import BadInput
from tasks.judging.comparison import (
    DISTANCE,
    ChangedCase,
    Comparison,
    MetricChange,
    StrandComparison,
    compare_strands,
)

FOLDER = ".benchloom/compare"
"""Where pages go unless --out says otherwise."""
HEADER = (
    "metric", "pairs", "clusters", "A", "B", "B - A", "95% interval", "p", "Holm", "detectable",
    "needed", "fell", "rose",
)  # fmt: skip
TEXT = 300
"""Characters of a text that the table shows."""


@dataclass(frozen=True)
class CompareOptions:
    """How to compare. only: entries or systems; metrics: by name; all if empty. items: shown by the table.

    distance: for which the pairs that it takes are told.
    """

    only: Sequence[str] = ()
    metrics: Sequence[str] = ()
    items: int = 5
    draws: int = 10_000
    seed: int = 0
    distance: float = DISTANCE


def compare_command(
    a: str,
    b: str,
    options: CompareOptions,
    *,
    root: Path,
    as_json: bool = False,
    html: bool = False,
    out: Path | None = None,
) -> int:
    """Carry out `benchloom compare`; returns the exit code.

    Raises BadInput where a name is none, or tells several things; BenchloomError where nothing is in common.
    """
    comparison, paired = compare_sides(a, b, options, root)
    if html:
        from tasks.reports.comparison import write_comparison

        page = out or root / FOLDER / f"{name_file(comparison.a)}--{name_file(comparison.b)}.html"
        write_comparison(comparison, page, alone=(paired.alone_a, paired.alone_b))
        print(page)
    if as_json:
        alone = {"alone_a": list(paired.alone_a), "alone_b": list(paired.alone_b)}
        print(json.dumps({**asdict(comparison), **alone}, ensure_ascii=False, allow_nan=False))
    elif not html:
        print_comparison(CleanConsole(highlight=False), comparison, paired, options.items)
    return 0


def compare_sides(a: str, b: str, options: CompareOptions, root: Path) -> tuple[Comparison, Paired]:
    """Find both sides, pair their strands, and compare them. Raises as `compare_command`."""
    if a == b:
        raise BadInput(a, "is A and B: nothing can differ")
    sides = Sides(root, options.only)
    left, right = sides.find(a), sides.find(b)
    paired = pair_strands(left, right)
    comparison = compare_strands(
        paired.pairs,
        names=(left.label, right.label),
        metrics=options.metrics,
        draws=options.draws,
        seed=options.seed,
        distance=options.distance,
    )
    if not any(strand.metrics for strand in comparison.strands):
        there = compare_strands(paired.pairs, draws=1)
        names = sorted({change.metric for strand in there.strands for change in strand.metrics})
        raise BadInput(f"--metric {', '.join(options.metrics)}", f"is none of {join_names(names)}")
    return comparison, paired


def print_comparison(console: CleanConsole, comparison: Comparison, paired: Paired, items: int) -> None:
    """Print a comparison as tables, with the first changed items of each."""
    console.print(f"A: {escape(comparison.a)}\nB: {escape(comparison.b)}", soft_wrap=True)
    for strand in comparison.strands:
        console.print(f"\n[bold]{escape(name_strand(strand))}[/bold]", soft_wrap=True)
        print_columns(console, tabulate(strand.metrics))
        console.print(describe_changes(strand), soft_wrap=True)
        for side, alone_there in (("A", strand.only_a), ("B", strand.only_b)):
            if alone_there:
                listed = join_names(list(alone_there))
                console.print(f"items only in {side}: {len(alone_there)} ({escape(listed)})", soft_wrap=True)
        for case in strand.changed[:items]:
            print_case(console, case)
    tests = "1 test" if comparison.n_tests == 1 else f"{comparison.n_tests} tests"
    console.print(
        f"\n{tests}, corrected by Holm. Intervals: 95%, {comparison.draws:,} bootstrap "
        f"draws of whole clusters.\nDetectable: the smallest true difference found with 80% power at "
        f"{comparison.alpha:g} / {max(comparison.n_tests, 1)}. Needed: pairs that would find "
        f"a difference of {comparison.distance:g} so.",
        soft_wrap=True,
    )
    for side, alone in (("A", paired.alone_a), ("B", paired.alone_b)):
        if alone:
            console.print(f"only in {side}: {escape(join_names(alone))}", soft_wrap=True)
    for caution in comparison.cautions:
        console.print(f"caution: {escape(caution)}", soft_wrap=True)


def name_strand(strand: StrandComparison) -> str:
    """Name what is compared: one name where both sides have the same."""
    names = strand.a if strand.a == strand.b else f"{strand.a} -> {strand.b}"
    return f"{strand.section}: {names}"


def tabulate(metrics: Sequence[MetricChange]) -> list[list[str]]:
    """Write a strand's metrics as rows of cells, the header first; figures end below each other."""
    rows = [list(HEADER)]
    for change in metrics:
        interval = "-" if change.low is None else f"{change.low:+.3f} to {change.high:+.3f}"
        rows.append(
            [
                change.metric,
                f"{change.n_pairs:,}",
                f"{change.clusters:,}",
                write_number(change.mean_a, ".3f"),
                write_number(change.mean_b, ".3f"),
                write_number(change.difference, "+.3f"),
                interval,
                write_number(change.p_value, ".4f"),
                write_number(change.adjusted, ".4f"),
                write_number(change.detectable, ".3f"),
                write_number(change.needed, ",d"),
                f"{change.fell:,}",
                f"{change.rose:,}",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in rows
    ]


def write_number(value: float | None, form: str) -> str:
    """Write a number; a dash where there is none."""
    return "-" if value is None else format(value, form)


def describe_changes(strand: StrandComparison) -> str:
    """Say how many items changed."""
    return (
        f"{strand.n_cases:,} items of both: {len(strand.changed):,} with another score, "
        f"{strand.reworded:,} with another answer"
    )


def print_case(console: CleanConsole, case: ChangedCase) -> None:
    """Print a changed item, with both answers below each other."""
    lines = [f"  {case.case}  {shorten(case.question)}", f"    true  {shorten(case.reference)}"]
    for name, side in (("A", case.a), ("B", case.b)):
        scores = ", ".join(f"{metric} {write_number(value, '.3g')}" for metric, value in side.scores.items())
        lines.append(f"    {name}     {shorten(side.answer)}  [{scores}]")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def shorten(text: str) -> str:
    """Write a text in one line, with its end left out if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT else f"{line[:TEXT]}…"


def name_file(label: str) -> str:
    """Make a file's name of a label."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in label)[:60]
