"""Stage: the conversations' figures: means per dataset, systems in pairs, leak rates (figures 4 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.figures import NOTHING, Resampling, estimate_mean, round_figure
from tasks.ragcheck.rows import ANSWERS, ASKED, Comparison, Conversation, Estimate, Guard, Question
from tasks.scoring.statistics import compare_paired, correct_holm

MEASURES = ("wscore", "lscore", "mscore")
MEAN, DIFFERENCE, SIGN, RATE = "mean", "difference", "sign", "rate"
LEAK, PROBING, FLAGGED = "leak", "probing", "flagged"


def comparison(
    questions: list[Question],
    conversations: list[Conversation],
    guards: list[Guard],
    entry: Continuity,
    params: Resampling,
) -> Drafts[Comparison]:
    """Compute every figure for all questions (dataset empty), and per dataset where there are several."""
    dataset_of = {each.id: each.dataset for each in questions}
    conversations = [each for each in conversations if each.question in dataset_of]
    datasets = sorted({dataset_of[each.question] for each in conversations})
    groups = {"": conversations}
    if len(datasets) > 1:
        for name in datasets:
            groups[name] = [each for each in conversations if dataset_of[each.question] == name]
    rows: list[Comparison] = []
    for dataset, group in groups.items():
        for system in entry.systems:
            rows += _list_means(dataset, system, [each for each in group if each.system == system], params)
    for pair in combinations(entry.systems, 2):
        rows += _compare_pair(pair, groups, params)
    for system in entry.systems:
        rows += _list_rates(system, [each for each in guards if each.system == system], params)
    return Drafts(rows)


def _list_means(
    dataset: str, system: str, group: Sequence[Conversation], how: Resampling
) -> Iterator[Comparison]:
    for measure in MEASURES:
        values = [value for each in group if (value := getattr(each, measure)) is not None]
        yield Comparison(
            id=make_id(MEAN, dataset, system, measure),
            kind=MEAN,
            dataset=dataset,
            system=system,
            other="",
            measure=measure,
            n=len(values),
            failed=len(group) - len(values),
            estimate=estimate_mean(values, how),
            p_value=None,
            adjusted=None,
            origin=tuple(Origin("row", f"conversations#{each.id}") for each in group),
        )


def _compare_pair(
    pair: tuple[str, str], groups: dict[str, list[Conversation]], how: Resampling
) -> list[Comparison]:
    """Compare two systems on the questions where both conversations have scores."""
    whole = [_compare(pair, "", groups[""], measure, how) for measure in MEASURES]
    parts = [
        _compare(pair, dataset, group, measure, how)
        for dataset, group in groups.items()
        if dataset
        for measure in MEASURES
    ]
    return [*_adjust(whole), *_adjust(parts), *(_count_signs(row, parts) for row in whole if parts)]


def _compare(
    pair: tuple[str, str], dataset: str, group: Sequence[Conversation], measure: str, how: Resampling
) -> Comparison:
    one, other = ({each.question: each for each in group if each.system == name} for name in pair)
    both = sorted({*one} & {*other})
    scored = [
        (a, b)
        for name in both
        if (a := getattr(one[name], measure)) is not None and (b := getattr(other[name], measure)) is not None
    ]
    estimate, p_value = NOTHING, None
    if scored:
        found = compare_paired([a for a, _ in scored], [b for _, b in scored], draws=how.draws, seed=how.seed)
        figures = (round_figure(each) for each in (found.difference, found.low, found.high))
        estimate, p_value = Estimate(*figures), round_figure(found.p_value)
    return Comparison(
        id=make_id(DIFFERENCE, dataset, *pair, measure),
        kind=DIFFERENCE,
        dataset=dataset,
        system=pair[0],
        other=pair[1],
        measure=measure,
        n=len(scored),
        failed=len(both) - len(scored),
        estimate=estimate,
        p_value=p_value,
        adjusted=None,
        origin=tuple(
            Origin("row", f"conversations#{side[name].id}") for name in both for side in (one, other)
        ),
    )


def _adjust(rows: Sequence[Comparison]) -> list[Comparison]:
    tested = [each for each in rows if each.p_value is not None]
    adjusted = correct_holm([each.p_value for each in tested if each.p_value is not None])
    by_id = {row.id: round_figure(p) for row, p in zip(tested, adjusted, strict=True)}
    return [replace(each, adjusted=by_id.get(each.id)) for each in rows]


def _count_signs(whole: Comparison, parts: Sequence[Comparison]) -> Comparison:
    """Count the datasets whose difference has the sign of the difference over all."""
    own = [each for each in parts if each.measure == whole.measure and each.estimate.value is not None]
    value = whole.estimate.value
    agreeing = sum((each.estimate.value or 0.0) * (value or 0.0) > 0 for each in own)
    return Comparison(
        id=make_id(SIGN, whole.system, whole.other, whole.measure),
        kind=SIGN,
        dataset="",
        system=whole.system,
        other=whole.other,
        measure=whole.measure,
        n=len(own),
        failed=0,
        estimate=Estimate(float(agreeing) if value is not None else None, None, None),
        p_value=None,
        adjusted=None,
        origin=tuple(Origin("row", f"comparison#{each.id}") for each in own),
    )


def _list_rates(system: str, guards: Sequence[Guard], how: Resampling) -> Iterator[Comparison]:
    """List the share of answers that leak, in all and by task, and of questions that probe or are flagged."""
    answers = [each for each in guards if each.task in ANSWERS]
    questions = [each for each in guards if each.task == ASKED]
    kinds = [
        (LEAK, answers, [bool(each.words) for each in answers]),
        *(
            (f"{LEAK}_{task}", own, [bool(each.words) for each in own])
            for task in ANSWERS
            for own in ([each for each in answers if each.task == task],)
        ),
        (PROBING, questions, [bool(each.words) for each in questions]),
        (FLAGGED, questions, [bool(each.flagged) for each in questions]),
    ]
    for measure, rows, hits in kinds:
        yield Comparison(
            id=make_id(RATE, system, measure),
            kind=RATE,
            dataset="",
            system=system,
            other="",
            measure=measure,
            n=len(rows),
            failed=0,
            estimate=estimate_mean([float(each) for each in hits], how),
            p_value=None,
            adjusted=None,
            origin=tuple(Origin("row", f"guards#{each.id}") for each in rows),
        )
