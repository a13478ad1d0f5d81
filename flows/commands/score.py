"""Implement `benchloom score`: score predictions from a file, without a project, server or model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from tasks.lines import say_line
from tasks.scoring.items import UnreadableLine, describe_source
from tasks.scoring.metric import Metric
from tasks.scoring.registry import find_installed, make_metric
from tasks.scoring.running import Bootstrap, Report, score_file

NAMED_LINES = 50
"""Maximum number of unreadable lines that are printed with a reason."""
HEAD = ("metric", "rule", "n", "n_scored", "n_failed", "n_skipped", "n_unreadable")
COUNTS = ("_groups", "not_in_label_set")


@dataclass
class Complaints:
    """Reports unreadable lines on stderr.

    `say` prints the first 50 lines with a reason; `close` prints only the numbers of the remaining lines.
    """

    source: str
    said: int = 0
    rest: list[int] = field(default_factory=list)

    def say(self, line: UnreadableLine) -> None:
        """Print one unreadable line with its reason, or store its number for `close`."""
        self.said += 1
        if self.said > NAMED_LINES:
            self.rest.append(line.number)
            return
        say_line(f"benchloom: {self.source}, line {line.number}: {line.why}")

    def close(self) -> None:
        """Print the numbers of the remaining unreadable lines."""
        if self.rest:
            numbers = ", ".join(spell_ranges(self.rest))
            print(f"benchloom: {self.source}: these lines are unreadable, too: {numbers}", file=sys.stderr)


def score_command(
    metric: str,
    file: str,
    *,
    options: Mapping[str, Any],
    rule: str | None,
    items: Path | None,
    ci: Bootstrap | None,
    as_json: bool,
) -> int:
    """Run `benchloom score`; return the exit code."""
    chosen = make_metric(metric, options)
    complaints = Complaints(describe_source(file))
    try:
        report = score_file(chosen, file, rule=rule, intervals=ci, items=items, report=complaints.say)
    finally:
        complaints.close()
    plug = find_installed(metric)
    made_by = {"plug": f"{plug.package} {plug.version}", "record": plug.record} if plug else {}
    if as_json:
        print(orjson.dumps({**report, **made_by}).decode())
    else:
        print_report(chosen, report)
        print(*(f"{name}: {value}\n" for name, value in made_by.items()), sep="", end="")
    return 1 if report["n_failed"] or report["n_unreadable"] else 0


def spell_ranges(numbers: Iterable[int]) -> Iterator[str]:
    """Yield increasing numbers as text, with consecutive numbers as a range: `3`, `5-9`."""
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        block = [number for _, number in run]
        yield str(block[0]) if len(block) == 1 else f"{block[0]}-{block[-1]}"


def print_report(metric: Metric[Any], report: Report) -> None:
    """Print a table of figures.

    Fractions are printed as percentages. Counts, and figures with other scales, are printed unchanged.
    """
    from rich.table import Table

    from tasks.console import CleanConsole

    console = CleanConsole()
    rule = f" ({report['rule']})" if report["rule"] else ""
    counts = ", ".join(f"{report[name]} {name[2:]}" for name in HEAD[3:])
    console.print(f"{metric.name}{rule}: {report['n']} items: {counts}", highlight=False)
    body = {name: value for name, value in report.items() if name not in HEAD}
    rows = list(list_rows(metric, body))
    table = Table("figure", "value", *(["95% interval"] if any(row[2] for row in rows) else []))
    for name, value, interval in rows:
        table.add_row(name, value, *([interval] if len(table.columns) == 3 else []))
    console.print(table)


def list_rows(
    metric: Metric[Any], figures: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield the name, value and interval of every figure as text; nested names are joined with dots."""
    intervals = figures.get("ci") or {}
    for name, value in figures.items():
        if name == "ci":
            continue
        interval = intervals.get(name)
        if isinstance(value, dict):
            inner = {**value, "ci": interval} if isinstance(interval, dict) else value
            yield from list_rows(metric, inner, f"{prefix}{name}.")
            continue
        low_high = (
            f"{spell(metric, name, interval[0])} to {spell(metric, name, interval[1])}" if interval else ""
        )
        yield prefix + name, spell(metric, name, value), low_high


def spell(metric: Metric[Any], name: str, value: float | None) -> str:
    """Format a figure; None becomes a dash.

    A fraction is formatted as a percentage. A count, or a figure with another scale, is formatted unchanged.
    """
    if value is None:
        return "-"
    if name.startswith("n_") or name.endswith(COUNTS):
        return f"{value:g}"
    return f"{value:.4f}" if name in metric.own_scale else f"{100 * value:.2f}"
