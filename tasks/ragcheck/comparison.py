"""Stage: compute means, paired differences and leak rates over conversations (figures 4 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.conversations import Conversation
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.figures import (
    NOTHING,
    Estimate,
    Resampling,
    adjust_holm,
    estimate_mean,
    make_estimate,
    round_figure,
)
from tasks.ragcheck.guards import ANSWERS, ASKED, Guard
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.scoring.statistics import compare_paired

MEASURES = ("wscore", "lscore", "mscore")
MEAN, DIFFERENCE, SIGN, RATE = "mean", "difference", "sign", "rate"
LEAK, PROBING, FLAGGED = "leak", "probing", "flagged"


@dataclass(frozen=True)
class ConversationFigure:
    """Row of the stage `comparison`: a figure of Part II (conversations).

    - kind: `mean`, `difference` (`system` minus `other`), `sign` or `rate`. The kind `sign` counts the
      datasets whose difference has the same sign as the difference over all questions.
    - dataset: empty if the figure covers all datasets
    - n: the number of conversations (`mean`), pairs of conversations (`difference`), datasets (`sign`), or
      rows of `guards` (`rate`)
    """

    id: str
    kind: str
    dataset: str
    system: str
    other: str
    measure: str
    n: int
    failed: int
    estimate: Estimate
    p_value: float | None
    adjusted: float | None
    """The p value after Holm's correction for the tests on one pair of systems; None without a p value.

    The differences over all questions are one family of tests: one test per measure. The differences per
    dataset are a separate family: one test per dataset and measure.
    """
    origin: tuple[Origin, ...]


def comparison(
    questions: list[ReferenceQuestion],
    conversations: list[Conversation],
    guards: list[Guard],
    entry: Continuity,
    params: Resampling,
) -> Drafts[ConversationFigure]:
    """Compute every figure over all questions (dataset empty), and per dataset if there are several.

    Failed conversations are counted and have no scores. Two systems are compared on the questions for which
    both conversations succeeded.
    """
    dataset_of = {question.id: question.dataset for question in questions}
    conversations = [conversation for conversation in conversations if conversation.question in dataset_of]
    datasets = sorted({dataset_of[conversation.question] for conversation in conversations})
    groups = {"": conversations}
    if len(datasets) > 1:
        for name in datasets:
            groups[name] = [
                conversation for conversation in conversations if dataset_of[conversation.question] == name
            ]
    rows: list[ConversationFigure] = []
    for dataset, group in groups.items():
        for system in entry.systems:
            rows += _list_means(
                dataset,
                system,
                [conversation for conversation in group if conversation.system == system],
                params,
            )
    for pair in combinations(entry.systems, 2):
        rows += _compare_pair(pair, groups, params)
    for system in entry.systems:
        rows += _list_rates(system, [guard for guard in guards if guard.system == system], params)
    return Drafts(rows)


def _list_means(
    dataset: str, system: str, group: Sequence[Conversation], resampling: Resampling
) -> Iterator[ConversationFigure]:
    for measure in MEASURES:
        values = [value for conversation in group if (value := getattr(conversation, measure)) is not None]
        yield ConversationFigure(
            id=make_id(MEAN, dataset, system, measure),
            kind=MEAN,
            dataset=dataset,
            system=system,
            other="",
            measure=measure,
            n=len(values),
            failed=len(group) - len(values),
            estimate=estimate_mean(values, resampling),
            p_value=None,
            adjusted=None,
            origin=tuple(Origin("row", f"conversations#{conversation.id}") for conversation in group),
        )


def _compare_pair(
    pair: tuple[str, str], groups: dict[str, list[Conversation]], resampling: Resampling
) -> list[ConversationFigure]:
    """Compare two systems on the questions for which both conversations have scores."""
    whole = [_compare(pair, "", groups[""], measure, resampling) for measure in MEASURES]
    parts = [
        _compare(pair, dataset, group, measure, resampling)
        for dataset, group in groups.items()
        if dataset
        for measure in MEASURES
    ]
    return [*_adjust(whole), *_adjust(parts), *(_count_signs(row, parts) for row in whole if parts)]


def _compare(
    pair: tuple[str, str], dataset: str, group: Sequence[Conversation], measure: str, resampling: Resampling
) -> ConversationFigure:
    one, other = (
        {conversation.question: conversation for conversation in group if conversation.system == name}
        for name in pair
    )
    both = sorted({*one} & {*other})
    scored = [
        (a, b)
        for name in both
        if (a := getattr(one[name], measure)) is not None and (b := getattr(other[name], measure)) is not None
    ]
    estimate, p_value = NOTHING, None
    if scored:
        found = compare_paired(
            [a for a, _ in scored],
            [b for _, b in scored],
            draws=resampling.draws,
            seed=resampling.seed,
            of="questions",
        )
        estimate = make_estimate(found.difference, found.interval, found.why)
        p_value = round_figure(found.p_value)
    return ConversationFigure(
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


def _adjust(rows: Sequence[ConversationFigure]) -> list[ConversationFigure]:
    adjusted = adjust_holm([row.p_value for row in rows])
    return [replace(row, adjusted=p_value) for row, p_value in zip(rows, adjusted, strict=True)]


def _count_signs(whole: ConversationFigure, parts: Sequence[ConversationFigure]) -> ConversationFigure:
    """Return the figure `sign`: the number of datasets whose difference has the overall difference's sign."""
    datasets = [part for part in parts if part.measure == whole.measure and part.estimate.value is not None]
    value = whole.estimate.value
    agreeing = sum((part.estimate.value or 0.0) * (value or 0.0) > 0 for part in datasets)
    return ConversationFigure(
        id=make_id(SIGN, whole.system, whole.other, whole.measure),
        kind=SIGN,
        dataset="",
        system=whole.system,
        other=whole.other,
        measure=whole.measure,
        n=len(datasets),
        failed=0,
        estimate=Estimate(float(agreeing) if value is not None else None, None, None),
        p_value=None,
        adjusted=None,
        origin=tuple(Origin("row", f"comparison#{part.id}") for part in datasets),
    )


def _list_rates(system: str, guards: Sequence[Guard], resampling: Resampling) -> Iterator[ConversationFigure]:
    """Compute the rates of leaking answers (overall and per task), probing questions and flagged questions.

    The bootstrap resamples whole conversations, because texts of one conversation are not independent.
    """
    answers = [guard for guard in guards if guard.task in ANSWERS]
    questions = [guard for guard in guards if guard.task == ASKED]
    kinds = [
        (LEAK, answers, [bool(guard.words) for guard in answers]),
        *(
            (f"{LEAK}_{task}", of_task, [bool(guard.words) for guard in of_task])
            for task in ANSWERS
            for of_task in ([guard for guard in answers if guard.task == task],)
        ),
        (PROBING, questions, [bool(guard.words) for guard in questions]),
        (FLAGGED, questions, [bool(guard.flagged) for guard in questions]),
    ]
    for measure, rows, hits in kinds:
        conversations = [guard.conversation for guard in rows]
        yield ConversationFigure(
            id=make_id(RATE, system, measure),
            kind=RATE,
            dataset="",
            system=system,
            other="",
            measure=measure,
            n=len(rows),
            failed=0,
            estimate=estimate_mean(hits, resampling, conversations, share=True),
            p_value=None,
            adjusted=None,
            origin=tuple(Origin("row", f"guards#{guard.id}") for guard in rows),
        )
