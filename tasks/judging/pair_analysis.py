"""Analyse the items that three or more systems answered, in the pairs of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tasks.judging.comparison import Strand, collect_cases, find_altered
from tasks.judging.item_analysis import ItemAnalysis, analyse_items, collect_items
from tasks.judging.priced_means import AnswerCost, PricedMean, PricedMetric


def analyse_pairs(
    pairs: Sequence[tuple[Strand, Strand]],
    metrics: Sequence[str] = (),
    draws: int = 10_000,
    seed: int = 0,
    letters: Sequence[tuple[str, str]] = (),
) -> list[tuple[Sequence[Strand], ItemAnalysis]]:
    """Analyse the items of strands that are paired with each other; with the strands, in their order.

    letters: of each pair, which of the sides its strands are of; they tell strands of one name apart. With
    fewer than LEAST_SYSTEMS strands the items' discrimination says nothing.
    """
    sides = {
        strand: letter
        for pair, pair_letters in zip(pairs, letters, strict=False)
        for strand, letter in zip(pair, pair_letters, strict=True)
    }
    return [
        (strands, analysis)
        for strands in _group_strands(pairs)
        for analysis in _analyse(strands, sides, metrics, draws, seed)
    ]


def _group_strands(pairs: Iterable[tuple[Strand, Strand]]) -> list[list[Strand]]:
    """Group strands that are paired with each other, directly or through others, in the order of sides."""
    groups: list[list[Strand]] = []
    for pair in pairs:
        touched = [group for group in groups if not set(group).isdisjoint(pair)]
        groups = [group for group in groups if group not in touched]
        groups.append(list(dict.fromkeys([strand for group in touched for strand in group] + list(pair))))
    return groups


def _analyse(
    strands: Sequence[Strand], sides: Mapping[Strand, str], metrics: Sequence[str], draws: int, seed: int
) -> Iterable[ItemAnalysis]:
    """Analyse the items of strands under each metric; one that is asked otherwise in another is left out."""
    altered = {case for strand in strands[1:] for case in find_altered(strands[0], strand)}
    collected = [collect_cases(strand) for strand in strands]
    known = {key: case for cases in reversed(collected) for key, case in cases.items() if key not in altered}
    for metric in dict.fromkeys(
        name for cases in collected for case in cases.values() for name in case.values
    ):
        if metrics and metric not in metrics:
            continue
        scores = [{key: case.score(metric) for key, case in cases.items()} for cases in collected]
        questions = {key: (case.group, case.answered.question) for key, case in known.items()}
        items, left_out = collect_items(questions, scores)
        if items:
            systems = [strand.name for strand in strands]
            if len(set(systems)) < len(systems):
                systems = [f"{sides.get(strand, '?')}: {strand.name}" for strand in strands]
            yield analyse_items(
                strands[0].section, metric, systems, items, left_out + len(altered), draws, seed
            )


def price_means(
    strands: Sequence[Strand], analysis: ItemAnalysis, read_cost: Callable[[Strand], AnswerCost]
) -> PricedMetric:
    """Put the cost of its answers beside each system's mean. strands: in the order of the analysis."""
    return PricedMetric(
        analysis.section,
        analysis.metric,
        analysis.n_items,
        analysis.left_out,
        [
            PricedMean(found.system, found.mean, found.interval, found.why, read_cost(strand))
            for strand, found in zip(strands, analysis.systems, strict=True)
        ],
    )
