"""Implement `benchloom compare`: compare systems, runs or revisions pairwise on the same items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from flows.commands.cli_compare import Alone, print_comparison
from flows.comparing.costs import open_costs
from flows.comparing.sides import Sides, join_names, pair_sides
from tasks.console import CleanConsole
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.comparison import (
    DISTANCE,
    Comparison,
    compare_scored_systems,
)
from tasks.judging.item_analysis import LEAST_SYSTEMS
from tasks.judging.pair_analysis import analyse_pairs, price_means
from tasks.reports.markdown import list_drops, write_markdown

STDOUT = "-"
FOLDER = ".benchloom/compare"
"""The default folder for pages; `--out` overrides it."""
ALARM = 5
"""The exit code of an alarm (docs/commands.md)."""


@dataclass(frozen=True)
class CompareOutput:
    """The outputs of the command besides its tables.

    `html`: write a page to `out` or below .benchloom/compare. `markdown`: the file for the pull request
    report; `-` prints the report on stdout instead of the tables. `links`: links at the end of the report, as
    pairs (text, URL). `alarm`: exit with 5 if a metric dropped significantly.
    """

    as_json: bool = False
    html: bool = False
    out: Path | None = None
    markdown: str = ""
    links: Sequence[tuple[str, str]] = ()
    alarm: bool = False


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison.

    `only`: entries or systems to compare, by default all. `metrics`: metrics to compare, by default all.
    `items`: number of changed items in each table. `draws`: number of bootstrap samples. `distance`: the
    difference to detect; the comparison estimates how many pairs are required to detect it.
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
    """Run `benchloom compare`; return the exit code.

    Raises BadInput for a name that is unknown or ambiguous, and BenchloomError if no answer sets can be
    paired.
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
    """Convert a comparison to the document that `--json` prints."""
    a, b, *_ = comparison.sides
    rest = {f"alone_{letter.lower()}": list(names) for letter, names in alone.items()}
    return {"a": a, "b": b, **asdict(comparison), **rest, "markdown": write_markdown(comparison, alone)}


def read_link(text: str) -> tuple[str, str]:
    """Parse TEXT=URL. Raises BadInput unless the URL is http or https."""
    name, _, address = text.partition("=")
    if not name or not address.startswith(("https://", "http://")):
        raise BadInput(f"--link {text}", "does not have the form TEXT=https://...")
    return name, address


def compare_sides(words: Sequence[str], options: CompareOptions, root: Path) -> tuple[Comparison, Alone]:
    """Find the sides and compare them pairwise; also return the entries that only one side has.

    Raises the errors of `compare_command`.
    """
    for word, letters in list_letters(words).items():
        if len(letters) > 1:
            raise BadInput(
                word, f"is given twice, as {' and '.join(letters)}, so there is nothing to compare"
            )
    if len(words) > len(ascii_uppercase):
        raise BadInput(
            "benchloom compare", f"compares at most {len(ascii_uppercase)} arguments, got {len(words)}"
        )
    finder = Sides(root, options.only)
    sides = [finder.find(word) for word in words]
    paired = pair_sides(sides)
    comparison = compare_scored_systems(
        paired.pairs,
        names=[side.label for side in sides],
        metrics=options.metrics,
        draws=options.draws,
        seed=options.seed,
        distance=options.distance,
        letters=paired.letters,
    )
    if not any(scored_system.metrics for scored_system in comparison.strands):
        # Only the names of the metrics are needed, not their intervals.
        there = compare_scored_systems(paired.pairs, draws=1)
        names = sorted({change.metric for scored_system in there.strands for change in scored_system.metrics})
        raise BadInput(
            f"--metric {', '.join(options.metrics)}",
            f"is not a metric of the compared systems (known: {join_names(names)})",
        )
    analysed = analyse_pairs(paired.pairs, options.metrics, options.draws, options.seed, paired.letters)
    with open_costs(root) as read_cost:
        means = [price_means(scored_systems, analysis, read_cost) for scored_systems, analysis in analysed]
    items = [analysis for scored_systems, analysis in analysed if len(scored_systems) >= LEAST_SYSTEMS]
    return replace(comparison, items=items, means=means), paired.alone


def list_letters(words: Sequence[str]) -> dict[str, list[str]]:
    """Map each command line argument to the letters of the sides that it names."""
    letters: dict[str, list[str]] = {}
    for letter, word in zip(ascii_uppercase, words, strict=False):
        letters.setdefault(word, []).append(letter)
    return letters


def name_file(label: str) -> str:
    """Convert a label to a file name."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in label)[:60]
