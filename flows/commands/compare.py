"""`benchloom compare`: systems, runs, nights or revisions, in pairs over the same items."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from rich.markup import escape

from flows.commands.cli_columns import print_columns
from flows.comparing.costs import open_costs
from flows.comparing.sides import Sides, join_names, pair_sides
from tasks.console import CleanConsole
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.comparison import (
    DISTANCE,
    ChangedCase,
    Comparison,
    StrandComparison,
    compare_strands,
)
from tasks.judging.item_analysis import LEAST_SYSTEMS, ItemAnalysis
from tasks.judging.pair_analysis import analyse_pairs, price_means
from tasks.reports.markdown import list_drops, write_markdown
from tasks.scoring.statistics import Interval

Alone = Mapping[str, Sequence[str]]
"""A side's letter -> what only that side has, by name."""
STDOUT = "-"
FOLDER = ".benchloom/compare"
"""Where pages go unless --out says otherwise."""
HEADER = (
    "metric", "pairs", "clusters", "A", "B", "B - A", "95% interval", "p", "Holm", "detectable",
    "needed", "fell", "rose",
)  # fmt: skip
TEXT = 300
"""Characters of a text that the table shows."""
ALARM = 5
"""The exit code of an alarm (docs/commands.md)."""


@dataclass(frozen=True)
class CompareOutput:
    """What the command writes beside its tables.

    html: a page, to `out` or below .benchloom/compare. markdown: the file of a report for pull requests, `-`
    for stdout instead of the tables; links: (text, address) below it. alarm: end with 5 if a metric dropped.
    """

    as_json: bool = False
    html: bool = False
    out: Path | None = None
    markdown: str = ""
    links: Sequence[tuple[str, str]] = ()
    alarm: bool = False


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
    words: Sequence[str],
    options: CompareOptions,
    *,
    root: Path,
    output: CompareOutput = CompareOutput(),
) -> int:
    """Carry out `benchloom compare`; returns the exit code.

    Raises BadInput where a name is none, or tells several things; BenchloomError where nothing is in common.
    """
    comparison, alone = compare_sides(words, options, root)
    if output.html:
        from tasks.reports.comparison import write_comparison

        page = output.out or root / FOLDER / f"{'--'.join(map(name_file, comparison.sides))}.html"
        write_comparison(comparison, page, alone)
        print(page)
    if output.markdown:
        report = write_markdown(comparison, alone, output.links)
        if output.markdown == STDOUT:
            print(report, end="")
        else:
            write_text(Path(output.markdown), report)
    if output.as_json:
        print(json.dumps(to_document(comparison, alone), ensure_ascii=False, allow_nan=False))
    elif not output.html and output.markdown != STDOUT:
        print_comparison(CleanConsole(highlight=False), comparison, alone, options.items)
    return ALARM if output.alarm and list_drops(comparison) else 0


def to_document(comparison: Comparison, alone: Alone) -> dict[str, Any]:
    """Lay a comparison out for machines."""
    a, b, *_ = comparison.sides
    rest = {f"alone_{letter.lower()}": list(names) for letter, names in alone.items()}
    return {"a": a, "b": b, **asdict(comparison), **rest, "markdown": write_markdown(comparison, alone)}


def read_link(text: str) -> tuple[str, str]:
    """Read TEXT=URL. Raises BadInput unless the address is one of http or https."""
    name, _, address = text.partition("=")
    if not name or not address.startswith(("https://", "http://")):
        raise BadInput(f"--link {text}", "is not TEXT=https://...")
    return name, address


def compare_sides(words: Sequence[str], options: CompareOptions, root: Path) -> tuple[Comparison, Alone]:
    """Find the sides, pair their strands, and compare them; also returns what only one side has.

    Raises as `compare_command`.
    """
    for word, letters in list_letters(words).items():
        if len(letters) > 1:
            raise BadInput(word, f"is {' and '.join(letters)}: nothing can differ")
    if len(words) > len(ascii_uppercase):
        raise BadInput("benchloom compare", f"compares {len(ascii_uppercase)} at most, not {len(words)}")
    finder = Sides(root, options.only)
    sides = [finder.find(word) for word in words]
    paired = pair_sides(sides)
    comparison = compare_strands(
        paired.pairs,
        names=[side.label for side in sides],
        metrics=options.metrics,
        draws=options.draws,
        seed=options.seed,
        distance=options.distance,
        letters=paired.letters,
    )
    if not any(strand.metrics for strand in comparison.strands):
        there = compare_strands(paired.pairs, draws=1)
        names = sorted({change.metric for strand in there.strands for change in strand.metrics})
        raise BadInput(f"--metric {', '.join(options.metrics)}", f"is none of {join_names(names)}")
    analysed = analyse_pairs(paired.pairs, options.metrics, options.draws, options.seed, paired.letters)
    with open_costs(root) as read_cost:
        means = [price_means(strands, analysis, read_cost) for strands, analysis in analysed]
    items = [analysis for strands, analysis in analysed if len(strands) >= LEAST_SYSTEMS]
    return replace(comparison, items=items, means=means), paired.alone


def list_letters(words: Sequence[str]) -> dict[str, list[str]]:
    """Map each word to the letters of the sides that it names."""
    letters: dict[str, list[str]] = {}
    for letter, word in zip(ascii_uppercase, words, strict=False):
        letters.setdefault(word, []).append(letter)
    return letters


def print_comparison(console: CleanConsole, comparison: Comparison, alone: Alone, items: int) -> None:
    """Print a comparison as tables; two sides with the items that changed, more with what the items tell."""
    named = list(zip(ascii_uppercase, comparison.sides, strict=False))
    console.print("\n".join(f"{letter}: {escape(side)}" for letter, side in named), soft_wrap=True)
    for analysis in comparison.items:
        print_items(console, analysis, items)
    for strand in comparison.strands:
        console.print(f"\n[bold]{escape(name_strand(strand))}[/bold]", soft_wrap=True)
        print_columns(console, tabulate(strand))
        console.print(describe_changes(strand), soft_wrap=True)
        for side, alone_there in zip(strand.letters, (strand.only_a, strand.only_b), strict=True):
            if alone_there:
                listed = join_names(list(alone_there))
                console.print(f"items only in {side}: {len(alone_there)} ({escape(listed)})", soft_wrap=True)
        for case in strand.changed[: items if len(named) == 2 else 0]:
            print_case(console, case, strand.letters)
    tests = "1 test" if comparison.n_tests == 1 else f"{comparison.n_tests} tests"
    console.print(
        f"\n{tests}, corrected by Holm. Intervals: 95%, {comparison.draws:,} bootstrap "
        f"draws of whole clusters.\nDetectable: the smallest true difference found with 80% power at "
        f"{comparison.alpha:g} / {max(comparison.n_tests, 1)}. Needed: pairs that would find "
        f"a difference of {comparison.distance:g} so.",
        soft_wrap=True,
    )
    for letter, names in alone.items():
        if names:
            console.print(f"only in {letter}: {escape(join_names(names))}", soft_wrap=True)
    for caution in comparison.cautions:
        console.print(f"caution: {escape(caution)}", soft_wrap=True)


def print_items(console: CleanConsole, analysis: ItemAnalysis, items: int) -> None:
    """Print the systems' means over the same items, and the items that tell the systems apart worst."""
    head = f"{analysis.section}: {analysis.metric} of {analysis.n_items:,} items that all systems scored"
    console.print(f"\n[bold]{escape(head)}[/bold]", soft_wrap=True)
    rows = [("system", "mean", "95% interval")]
    rows += [
        (mean.system, f"{mean.mean:.3f}", write_interval(mean.interval) if mean.interval else "-")
        for mean in analysis.systems
    ]
    print_columns(console, align(rows))
    console.print(describe_items(analysis), soft_wrap=True)
    for item in analysis.items[:items]:
        if item.discrimination is not None:
            scores = ", ".join(f"{score:.3g}" for score in item.scores)
            line = f"  {item.discrimination:+.2f}  {item.case}  {shorten(item.question)}  [{scores}]"
            console.print(line, markup=False, soft_wrap=True)


def describe_items(analysis: ItemAnalysis) -> str:
    """Say how many items tell the systems apart, and how well."""
    told = [item for item in analysis.items if item.discrimination is not None]
    apart = f"{len(told):,} items tell the systems apart"
    if analysis.mean_discrimination is not None:
        apart += (
            f" (mean discrimination {analysis.mean_discrimination:.2f}), {analysis.against:,} the wrong way"
        )
    left = f"; {analysis.left_out:,} items lack a score of a system" if analysis.left_out else ""
    return (
        f"{apart}; on {analysis.alike:,} all score alike ({analysis.best:,} at the highest score, "
        f"{analysis.worst:,} at the lowest){left}"
    )


def name_strand(strand: StrandComparison) -> str:
    """Name what is compared: one name where both sides have the same."""
    names = strand.a if strand.a == strand.b else f"{strand.a} -> {strand.b}"
    return f"{strand.section}: {names}"


def tabulate(strand: StrandComparison) -> list[list[str]]:
    """Write a strand's metrics as rows of cells, the header first; figures end below each other."""
    a, b = strand.letters
    rows = [[{"A": a, "B": b, "B - A": f"{b} - {a}"}.get(word, word) for word in HEADER]]
    for change in strand.metrics:
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
    return align(rows)


def align(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Pad the cells of all columns but the first, so that figures end below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in rows
    ]


def write_interval(interval: Interval) -> str:
    """Write an interval."""
    return f"{interval[0]:.3f} to {interval[1]:.3f}"


def write_number(value: float | None, form: str) -> str:
    """Write a number; a dash where there is none."""
    return "-" if value is None else format(value, form)


def describe_changes(strand: StrandComparison) -> str:
    """Say how many items changed."""
    return (
        f"{strand.n_cases:,} items of both: {len(strand.changed):,} with another score, "
        f"{strand.reworded:,} with another answer"
    )


def print_case(console: CleanConsole, case: ChangedCase, letters: tuple[str, str]) -> None:
    """Print a changed item, with both answers below each other."""
    lines = [f"  {case.case}  {shorten(case.question)}", f"    true  {shorten(case.reference)}"]
    for name, side in zip(letters, (case.a, case.b), strict=True):
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
