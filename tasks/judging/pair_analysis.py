"""Analyse the items that compared systems answered, and combine systems' means with their costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tasks.judging.comparison import ScoredSystem, collect_cases, find_altered
from tasks.judging.item_analysis import ItemAnalysis, analyse_items, collect_items
from tasks.judging.priced_means import AnswerCost, PricedMean, PricedMetric


def analyse_pairs(
    pairs: Sequence[tuple[ScoredSystem, ScoredSystem]],
    metrics: Sequence[str] = (),
    draws: int = 10_000,
    seed: int = 0,
    letters: Sequence[tuple[str, str]] = (),
) -> list[tuple[Sequence[ScoredSystem], ItemAnalysis]]:
    """Analyse the items of each group of systems that are paired directly or through other systems.

    Returns a tuple (systems, analysis of the items) for each group and metric. With fewer than LEAST_SYSTEMS
    systems, the items' discrimination is meaningless.

    letters: the side labels of each pair's two systems, which distinguish systems with the same name.
    """
    sides = {
        scored_system: letter
        for pair, pair_letters in zip(pairs, letters, strict=False)
        for scored_system, letter in zip(pair, pair_letters, strict=True)
    }
    return [
        (scored_systems, analysis)
        for scored_systems in _group_scored_systems(pairs)
        for analysis in _analyse(scored_systems, sides, metrics, draws, seed)
    ]


def _group_scored_systems(pairs: Iterable[tuple[ScoredSystem, ScoredSystem]]) -> list[list[ScoredSystem]]:
    """Group systems that are paired directly or through other systems."""
    groups: list[list[ScoredSystem]] = []
    for pair in pairs:
        touched = [group for group in groups if not set(group).isdisjoint(pair)]
        groups = [group for group in groups if group not in touched]
        groups.append(
            list(dict.fromkeys([scored_system for group in touched for scored_system in group] + list(pair)))
        )
    return groups


def _analyse(
    scored_systems: Sequence[ScoredSystem],
    sides: Mapping[ScoredSystem, str],
    metrics: Sequence[str],
    draws: int,
    seed: int,
) -> Iterable[ItemAnalysis]:
    """Yield one analysis per metric, without cases whose question or reference differs between systems."""
    altered = {
        case
        for scored_system in scored_systems[1:]
        for case in find_altered(scored_systems[0], scored_system)
    }
    collected = [collect_cases(scored_system) for scored_system in scored_systems]
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
            systems = [scored_system.name for scored_system in scored_systems]
            if len(set(systems)) < len(systems):
                systems = [
                    f"{sides.get(scored_system, '?')}: {scored_system.name}"
                    for scored_system in scored_systems
                ]
            yield analyse_items(
                scored_systems[0].section, metric, systems, items, left_out + len(altered), draws, seed
            )


def price_means(
    scored_systems: Sequence[ScoredSystem],
    analysis: ItemAnalysis,
    read_cost: Callable[[ScoredSystem], AnswerCost],
) -> PricedMetric:
    """Return each system's mean, together with the cost of an answer.

    scored_systems: the systems in the order of the analysis.
    """
    return PricedMetric(
        analysis.section,
        analysis.metric,
        analysis.n_items,
        analysis.left_out,
        [
            PricedMean(found.system, found.mean, found.interval, found.why, read_cost(scored_system))
            for scored_system, found in zip(scored_systems, analysis.systems, strict=True)
        ],
    )
