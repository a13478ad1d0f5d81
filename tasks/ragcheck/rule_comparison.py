"""Stage: compare grades, and their correlation with people's ratings, under context rules E3 and E2.

The comparison is paired: both rules apply to the same answers. The bootstrap resamples whole conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.contexts import BY_QUESTION, BY_REFERENCE
from tasks.ragcheck.correlations import average_ratings
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import (
    CONVERSATIONS,
    NOTHING,
    Estimate,
    Resampling,
    adjust_holm,
    make_estimate,
    round_figure,
)
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.scores import JudgeScore
from tasks.scoring.correlation import correlate, rank
from tasks.scoring.metric import FloatArray, divide
from tasks.scoring.statistics import describe_difference, draw_clusters, number_clusters

FIGURES = MEAN, PEARSON, SPEARMAN = "mean", "pearson", "spearman"


@dataclass(frozen=True)
class RuleDifference:
    """Row of the stage `rule_comparison`: a figure of a judge under E3 minus the same figure under E2.

    - figure: `mean`, or a correlation with people's ratings: `pearson` or `spearman`
    - dataset: empty if the figure covers all datasets
    - n: the number of answers with a nonzero grade under both rules and, for a correlation, a nonzero rating
    - conversations: the number of conversations of these answers; the bootstrap resamples whole conversations
    - p_value: the two-sided p value from a paired bootstrap
    - adjusted: the p value, adjusted with Holm's method over the judges and figures of a system and dataset
    """

    id: str
    system: str
    dataset: str
    judge: str
    figure: str
    n: int
    conversations: int
    estimate: Estimate
    p_value: float | None
    adjusted: float | None
    origin: tuple[Origin, ...]


def rule_comparison(
    questions: list[ReferenceQuestion],
    scores: list[JudgeScore],
    ratings: list[Rating],
    entry: Assessment,
    params: Resampling,
) -> Drafts[RuleDifference]:
    """Compare the rules for every system, dataset (empty: all datasets together) and judge."""
    question_of = {question.id: question for question in questions}
    people = {answer: rating for answer, rating in average_ratings(ratings).items() if rating}
    rows: list[RuleDifference] = []
    for system in entry.systems:
        own = [score for score in scores if score.system == system and score.question in question_of]
        datasets = sorted({question_of[score.question].dataset for score in own})
        for dataset in ("", *(datasets if len(datasets) > 1 else ())):
            part = [score for score in own if dataset in ("", question_of[score.question].dataset)]
            found = [
                row
                for judge in entry.judges
                for row in _compare(
                    (system, dataset, judge),
                    [score for score in part if score.judge == judge],
                    {score.answer: question_of[score.question].conversation for score in part},
                    people,
                    params,
                )
            ]
            rows += _adjust(found)
    return Drafts(rows)


def _compare(
    names: tuple[str, str, str],
    scores: Sequence[JudgeScore],
    conversation_of: Mapping[str, str],
    people: Mapping[str, float],
    params: Resampling,
) -> Iterator[RuleDifference]:
    """Yield one row per figure. names: a system, a dataset and a judge."""
    by_rule = {
        rule: {score.answer: score for score in scores if score.rule == rule and score.score}
        for rule in (BY_QUESTION, BY_REFERENCE)
    }
    graded = sorted({*by_rule[BY_QUESTION]} & {*by_rule[BY_REFERENCE]})
    for figure in FIGURES:
        answers = graded if figure == MEAN else [answer for answer in graded if answer in people]
        before, after = (
            np.array([by_rule[rule][answer].score for answer in answers], dtype=np.float64)
            for rule in (BY_QUESTION, BY_REFERENCE)
        )
        rated = np.array([people.get(answer, 0.0) for answer in answers], dtype=np.float64)
        groups = [conversation_of[answer] for answer in answers]
        estimate, p_value = compare_in_pairs(_measure(figure, before, after, rated), groups, params)
        yield RuleDifference(
            id=make_id("rules", *names, figure),
            system=names[0],
            dataset=names[1],
            judge=names[2],
            figure=figure,
            n=len(answers),
            conversations=len(set(groups)),
            estimate=estimate,
            p_value=p_value,
            adjusted=None,
            origin=tuple(
                Origin("row", f"scores#{rows[answer].id}") for answer in answers for rows in by_rule.values()
            ),
        )


def _measure(
    figure: str, before: FloatArray, after: FloatArray, rated: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return a function that computes the figure under E3 minus the figure under E2.

    The function maps weights of shape (draws, answers) to differences of shape (draws,), one per bootstrap
    sample.
    """

    def mean(weights: FloatArray) -> FloatArray:
        return divide(weights @ (after - before), weights.sum(axis=1))

    def pearson(weights: FloatArray) -> FloatArray:
        return correlate(rated, after, weights) - correlate(rated, before, weights)

    def spearman(weights: FloatArray) -> FloatArray:
        ranks = rank(rated, weights)
        later, earlier = rank(after, weights), rank(before, weights)
        return correlate(ranks, later, weights) - correlate(ranks, earlier, weights)

    return {MEAN: mean, PEARSON: pearson, SPEARMAN: spearman}[figure]


def compare_in_pairs(
    measure: Callable[[FloatArray], FloatArray], groups: Sequence[str], params: Resampling
) -> tuple[Estimate, float | None]:
    """Estimate a difference with its 95% interval and two-sided p value; (NOTHING, None) if undefined.

    groups: the conversation of each answer. Bootstrap samples in which the difference is not defined are left
    out.
    """
    if not groups:
        return NOTHING, None
    (value,) = measure(np.ones((1, len(groups))))
    if np.isnan(value):
        return NOTHING, None
    rng = np.random.default_rng(params.seed)
    drawn_weights = draw_clusters(number_clusters(groups), params.draws, rng)
    drawn = np.concatenate([measure(weights) for weights in drawn_weights])
    found = describe_difference(float(value), drawn, len(set(groups)), CONVERSATIONS)
    return make_estimate(found.difference, found.interval, found.why), round_figure(found.p_value)


def _adjust(rows: Sequence[RuleDifference]) -> list[RuleDifference]:
    adjusted = adjust_holm([row.p_value for row in rows])
    return [replace(row, adjusted=p_value) for row, p_value in zip(rows, adjusted, strict=True)]
