"""Content of Part II's page: means, pairwise comparisons, plots, leak rates, ends of conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tasks.ragcheck.comparison import DIFFERENCE, MEAN, MEASURES, RATE, SIGN, ConversationFigure
from tasks.ragcheck.conversations import Conversation, End
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.judge_report import JudgeReport
from tasks.ragcheck.page_parts import DropCount
from tasks.ragcheck.plots import Plot, plot_datasets

Key = tuple[str, str, str, str, str]
"""Kind, dataset, system, other system, measure."""


@dataclass(frozen=True)
class PairLine:
    """A measure's difference over all questions. sign: over datasets; None if there is only one."""

    measure: str
    row: ConversationFigure
    sign: ConversationFigure | None


@dataclass(frozen=True)
class SystemPair:
    """Two systems compared. lines: per measure over all questions; parts: per measure and dataset."""

    one: str
    other: str
    lines: Sequence[PairLine]
    parts: Sequence[ConversationFigure]


@dataclass(frozen=True)
class ContinuityContent:
    """What the page shows below its head.

    tops: measure -> top of its scale. means: measure -> row per system. reach: measure -> largest difference
    that its axis shows. rates: per system, the leak, probing and flag rates. ends: per system, the number of
    conversations by end.
    """

    systems: Sequence[str]
    judges: Sequence[JudgeReport]
    tops: Mapping[str, int]
    means: Mapping[str, Sequence[ConversationFigure]]
    pairs: Sequence[SystemPair]
    reach: Mapping[str, int]
    plots: Sequence[Plot]
    rates: Sequence[tuple[str, Mapping[str, ConversationFigure]]]
    ends: Sequence[tuple[str, Sequence[tuple[End, int]]]]
    drops: Sequence[DropCount]


def make_content(
    systems: Sequence[str],
    turns: int,
    comparison: Sequence[ConversationFigure],
    conversations: Sequence[Conversation],
    judge: JudgeReport,
    drops: Sequence[DropCount],
) -> ContinuityContent:
    """Arrange the figures for the page. turns: the turn limit of a conversation."""
    figures = {(row.kind, row.dataset, row.system, row.other, row.measure): row for row in comparison}
    tops = {"wscore": TOP_SCORE, "lscore": turns, "mscore": TOP_SCORE}
    return ContinuityContent(
        systems=systems,
        judges=[judge],
        tops=tops,
        means={
            measure: [figures[MEAN, "", system, "", measure] for system in systems] for measure in MEASURES
        },
        pairs=[_arrange_pair(pair, figures) for pair in combinations(systems, 2)],
        reach={"wscore": TOP_SCORE, "lscore": max(1, turns - 1), "mscore": TOP_SCORE},
        plots=_plot_measures(systems, tops, figures),
        rates=[(system, _list_rates(system, comparison)) for system in systems],
        ends=_count_ends(conversations, systems),
        drops=drops,
    )


def _plot_measures(
    systems: Sequence[str], tops: Mapping[str, int], figures: Mapping[Key, ConversationFigure]
) -> list[Plot]:
    datasets = sorted({dataset for _, dataset, *_ in figures if dataset})
    if not datasets:
        return []
    plots = []
    for measure in MEASURES:
        means = {
            (dataset, system): row.estimate
            for dataset in datasets
            for system in systems
            if (row := figures.get((MEAN, dataset, system, "", measure)))
        }
        plots.append(plot_datasets(measure, tops[measure], datasets, systems, means))
    return plots


def _arrange_pair(pair: tuple[str, str], figures: Mapping[Key, ConversationFigure]) -> SystemPair:
    parts = [
        row
        for (kind, dataset, one, other, _), row in figures.items()
        if kind == DIFFERENCE and dataset and (one, other) == pair
    ]
    return SystemPair(
        *pair,
        lines=[
            PairLine(
                measure, figures[DIFFERENCE, "", *pair, measure], figures.get((SIGN, "", *pair, measure))
            )
            for measure in MEASURES
        ],
        parts=sorted(parts, key=lambda row: (MEASURES.index(row.measure), row.dataset)),
    )


def _list_rates(system: str, comparison: Sequence[ConversationFigure]) -> dict[str, ConversationFigure]:
    return {row.measure: row for row in comparison if (row.kind, row.system) == (RATE, system)}


def _count_ends(
    conversations: Sequence[Conversation], systems: Sequence[str]
) -> list[tuple[str, list[tuple[End, int]]]]:
    counts = Counter((conversation.system, conversation.ended) for conversation in conversations)
    return [(system, [(end, counts[system, end]) for end in End]) for system in systems]
