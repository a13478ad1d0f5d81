"""Print a comparison as tables in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from rich.markup import escape

from flows.commands.cli_columns import print_columns
from flows.comparing.sides import join_names
from tasks.console import CleanConsole
from tasks.judging.comparison import ChangedCase, Comparison, SystemComparison
from tasks.judging.item_analysis import ItemAnalysis
from tasks.judging.priced_means import PricedMetric
from tasks.scoring.statistics import Interval

Alone = Mapping[str, Sequence[str]]
"""A side's letter -> names of the answer sets or entries that only that side has."""
HEADER = (
    "metric", "pairs", "clusters", "A", "B", "B - A", "95% interval", "p", "Holm", "detectable",
    "needed", "fell", "rose",
)  # fmt: skip
TEXT = 300
"""Maximum length of a text in the table, in characters."""


def print_comparison(console: CleanConsole, comparison: Comparison, alone: Alone, items: int) -> None:
    """Print a comparison as tables. Changed items are printed only for two sides."""
    named = list(zip(ascii_uppercase, comparison.sides, strict=False))
    console.print("\n".join(f"{letter}: {escape(side)}" for letter, side in named), soft_wrap=True)
    for metric in comparison.means:
        print_means(console, metric)
        for analysis in comparison.items:
            if name_analysed(analysis) == name_analysed(metric):
                print_items(console, analysis, items)
    for compared in comparison.strands:
        console.print(f"\n[bold]{escape(name_scored_system(compared))}[/bold]", soft_wrap=True)
        print_columns(console, tabulate(compared))
        console.print(describe_changes(compared), soft_wrap=True)
        for side, alone_there in zip(compared.letters, (compared.only_a, compared.only_b), strict=True):
            if alone_there:
                listed = join_names(list(alone_there))
                console.print(f"items only in {side}: {len(alone_there)} ({escape(listed)})", soft_wrap=True)
        for case in compared.changed[: items if len(named) == 2 else 0]:
            print_case(console, case, compared.letters)
    tests = "1 test" if comparison.n_tests == 1 else f"{comparison.n_tests} tests"
    console.print(
        f"\n{tests}, corrected with Holm's method. Intervals: 95%, {comparison.draws:,} bootstrap "
        f"draws of whole clusters.\nDetectable: the smallest true difference found with 80% power at alpha = "
        f"{comparison.alpha:g} / {max(comparison.n_tests, 1)}. Needed: the number of "
        f"pairs required to detect a difference of {comparison.distance:g} with this power.",
        soft_wrap=True,
    )
    for letter, names in alone.items():
        if names:
            console.print(f"only in {letter}: {escape(join_names(names))}", soft_wrap=True)
    for caution in comparison.cautions:
        console.print(f"warning: {escape(caution)}", soft_wrap=True)


def print_means(console: CleanConsole, metric: PricedMetric) -> None:
    """Print the systems' means over the same items, and the cost per answer."""
    head = f"{metric.section}: {metric.metric} over {metric.n_items:,} items with a score for every system"
    console.print(f"\n[bold]{escape(head)}[/bold]", soft_wrap=True)
    rows = [("system", "mean", "95% interval", "tokens", "USD", "seconds")]
    rows += [
        (
            mean.system,
            f"{mean.mean:.3f}",
            write_interval(mean.interval) if mean.interval else "-",
            write_number(mean.cost.tokens, ",.0f"),
            write_number(mean.cost.usd, ".2g"),
            write_number(mean.cost.seconds, ".2f"),
        )
        for mean in metric.systems
    ]
    print_columns(console, align(rows))
    told = dict.fromkeys(mean.cost.why for mean in metric.systems if mean.cost.why)
    why = f"; price not shown: {'; '.join(told)}" if told else ""
    console.print(f"tokens, USD and seconds are per answer{escape(why)}", soft_wrap=True)


def print_items(console: CleanConsole, analysis: ItemAnalysis, items: int) -> None:
    """Print the items with the lowest discrimination between the systems."""
    console.print(describe_items(analysis), soft_wrap=True)
    for item in analysis.items[:items]:
        if item.discrimination is not None:
            scores = ", ".join(f"{score:.3g}" for score in item.scores)
            line = f"  {item.discrimination:+.2f}  {item.case}  {shorten(item.question)}  [{scores}]"
            console.print(line, markup=False, soft_wrap=True)


def name_analysed(analysed: ItemAnalysis | PricedMetric) -> tuple[str, str, tuple[str, ...]]:
    """Return the section, the metric and the names of the systems that were analysed together."""
    return analysed.section, analysed.metric, tuple(mean.system for mean in analysed.systems)


def describe_items(analysis: ItemAnalysis) -> str:
    """Describe how many items distinguish between the systems, and how well."""
    told = [item for item in analysis.items if item.discrimination is not None]
    apart = f"{len(told):,} items distinguish the systems"
    if analysis.mean_discrimination is not None:
        apart += (
            f" (mean discrimination {analysis.mean_discrimination:.2f}), "
            f"{analysis.against:,} in the wrong direction"
        )
    left = f"; {analysis.left_out:,} items lack a score for at least one system" if analysis.left_out else ""
    return (
        f"{apart}; on {analysis.alike:,} items all systems score the same ({analysis.best:,} at the "
        "highest score, "
        f"{analysis.worst:,} at the lowest){left}"
    )


def name_scored_system(compared: SystemComparison) -> str:
    """Return a comparison's section and the names of both sides, or one name if the names are equal."""
    names = compared.a if compared.a == compared.b else f"{compared.a} -> {compared.b}"
    return f"{compared.section}: {names}"


def tabulate(compared: SystemComparison) -> list[list[str]]:
    """Convert the metrics of a comparison to rows of right-aligned cells; the first row is the header."""
    a, b = compared.letters
    rows = [[{"A": a, "B": b, "B - A": f"{b} - {a}"}.get(word, word) for word in HEADER]]
    for change in compared.metrics:
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
    """Pad the cells of all columns except the first, so that numbers are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in rows
    ]


def write_interval(interval: Interval) -> str:
    """Format an interval with three decimals."""
    return f"{interval[0]:.3f} to {interval[1]:.3f}"


def write_number(value: float | None, form: str) -> str:
    """Format a number; None becomes a dash."""
    return "-" if value is None else format(value, form)


def describe_changes(compared: SystemComparison) -> str:
    """Describe how many items have a different score or answer on the two sides."""
    return (
        f"{compared.n_cases:,} items on both sides: {len(compared.changed):,} with a different score, "
        f"{compared.reworded:,} with a different answer"
    )


def print_case(console: CleanConsole, case: ChangedCase, letters: tuple[str, str]) -> None:
    """Print a changed item, with one answer below the other."""
    lines = [f"  {case.case}  {shorten(case.question)}", f"    true  {shorten(case.reference)}"]
    for name, side in zip(letters, (case.a, case.b), strict=True):
        scores = ", ".join(f"{metric} {write_number(value, '.3g')}" for metric, value in side.scores.items())
        lines.append(f"    {name}     {shorten(side.answer)}  [{scores}]")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def shorten(text: str) -> str:
    """Return the text as a single line, truncated to 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT else f"{line[:TEXT]}…"
