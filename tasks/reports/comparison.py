"""Write a comparison's page: metrics for pairs of systems, and changed items with both answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from string import ascii_uppercase
from types import MappingProxyType

from tasks.files import write_text
from tasks.judging.comparison import ChangedCase, Comparison, ShownAnswer, SystemComparison
from tasks.judging.priced_means import PricedMetric
from tasks.reports.charts import Axis, Plot, Point, Series, draw_lines, find_reach
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home

ITEMS = 200
"""Maximum number of changed items per pair of systems; half are the largest drops, half the largest gains."""
TEXT = 4_000
"""Maximum number of characters per text."""
# SequenceMatcher takes quadratic time in the worst case.
WORDS = 400
"""Maximum number of words per answer; if an answer is longer, differences are not highlighted."""
STYLES = ("report.css", "comparison.css")


@dataclass(frozen=True)
class AnswerPiece:
    """A part of an answer. own: whether only this answer contains the part."""

    text: str
    own: bool


@dataclass(frozen=True)
class ShownCase:
    """A changed item. a, b: the two answers, split into pieces."""

    case: ChangedCase
    a: Sequence[AnswerPiece]
    b: Sequence[AnswerPiece]


@dataclass(frozen=True)
class ShownScoredSystem:
    """The comparison of one pair of systems. reach: upper bound of the difference axis."""

    scored_system: SystemComparison
    name: str
    reach: float
    cases: Sequence[ShownCase]
    left_out: int


@dataclass(frozen=True)
class ShownCost:
    """The means and costs of all systems for one metric.

    plot: quality against cost; None if fewer than two costs are known.
    """

    metric: PricedMetric
    plot: Plot | None
    why: str
    """The reason why prices are not shown; empty if all prices are shown."""


@dataclass(frozen=True)
class ComparisonPage:
    """The content of a comparison's page. sides: letter -> label. alone: see `write_comparison`.

    `costs`: for each metric, the systems with their costs per answer.
    """

    comparison: Comparison
    costs: Sequence[ShownCost]
    scored_systems: Sequence[ShownScoredSystem]
    sides: Mapping[str, str]
    alone: Mapping[str, Sequence[str]]


def write_comparison(
    comparison: Comparison, out: Path, alone: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Write the page to the file `out`.

    alone: letter of a side -> names of answer sets or entries that only this side has.
    """
    sides = dict(zip(ascii_uppercase, comparison.sides, strict=False))
    scored_systems = [_show_scored_system(scored_system) for scored_system in comparison.strands]
    content = ComparisonPage(comparison, list(map(show_cost, comparison.means)), scored_systems, sides, alone)
    write_text(out, render_alone("comparison.html", content, home=link_home(out), styles=STYLES))


def show_cost(metric: PricedMetric) -> ShownCost:
    """Plot the systems' means against price, or against tokens if prices are insufficient.

    Prices are insufficient if fewer than two are known, or all are zero.
    """
    why = "; ".join(dict.fromkeys(system.cost.why for system in metric.systems if system.cost.why))
    priced = [(system, system.cost.usd) for system in metric.systems if system.cost.usd is not None]
    label = "US dollars per answer"
    if len(priced) < 2 or not any(usd for _, usd in priced):
        priced = [(system, system.cost.tokens) for system in metric.systems if system.cost.tokens is not None]
        label = "tokens per answer"
    if len(priced) < 2:
        return ShownCost(metric, None, why)
    series = [
        Series(
            system.system,
            [Point(cost, system.mean, system.interval, f"{system.system}: {system.mean:.3f} at {cost:.3g}")],
            place,
            f"{system.mean:.3f}",
            line=False,
        )
        for place, (system, cost) in enumerate(priced)
    ]
    most = max(cost for _, cost in priced) * 1.1
    title = f"{metric.metric} against {label}"
    return ShownCost(
        metric, draw_lines(title, series, Axis(label, bottom=0, top=most), Axis(), marks=True), why
    )


def _show_scored_system(scored_system: SystemComparison) -> ShownScoredSystem:
    left_out = max(len(scored_system.changed) - ITEMS, 0)
    # The items are sorted by change: the first are the largest drops, the last the largest gains.
    kept = (
        [*scored_system.changed[: ITEMS // 2], *scored_system.changed[-ITEMS // 2 :]]
        if left_out
        else scored_system.changed
    )
    return ShownScoredSystem(
        scored_system,
        scored_system.a if scored_system.a == scored_system.b else f"{scored_system.a} → {scored_system.b}",
        find_reach(bound for change in scored_system.metrics for bound in (change.low, change.high)),
        [_show_case(case) for case in kept],
        left_out,
    )


def _show_case(case: ChangedCase) -> ShownCase:
    short = replace(
        case,
        question=_cut(case.question),
        reference=_cut(case.reference),
        a=_cut_side(case.a),
        b=_cut_side(case.b),
    )
    return ShownCase(short, *mark_words(short.a.answer, short.b.answer))


def _cut_side(side: ShownAnswer) -> ShownAnswer:
    return replace(side, answer=_cut(side.answer), note=_cut(side.note))


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[:TEXT]}… ({len(text) - TEXT:,} characters more)"


def mark_words(a: str, b: str) -> tuple[list[AnswerPiece], list[AnswerPiece]]:
    """Split two answers into pieces, and mark the words that differ.

    If an answer has more than WORDS words, nothing is marked.
    """
    words_a, words_b = a.split(" "), b.split(" ")
    if max(len(words_a), len(words_b)) > WORDS:
        return [AnswerPiece(a, own=False)], [AnswerPiece(b, own=False)]
    pieces_a, pieces_b = list[AnswerPiece](), list[AnswerPiece]()
    # With autojunk, difflib ignores frequent words in texts of 200 words or more.
    matcher = SequenceMatcher(None, words_a, words_b, autojunk=False)
    for kind, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        for pieces, words in ((pieces_a, words_a[start_a:end_a]), (pieces_b, words_b[start_b:end_b])):
            if words:
                pieces.append(AnswerPiece(" ".join(words), own=kind != "equal"))
    return pieces_a, pieces_b
