"""Rows of the answer browser on Part I's page: every answer with grades, contexts, baselines and ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import MEASURES, BaselineSimilarity
from tasks.ragcheck.contexts import RULES, Context
from tasks.ragcheck.page_parts import BrowsedRow, ShownContext, list_calls, show_history, show_passages
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.scores import JudgeScore


class ShownScore(NamedTuple):
    """A judge's grade of an answer, by one context rule."""

    rule: str
    judge: str
    score: int | None
    feedback: str
    problem: str


class ShownSimilarity(NamedTuple):
    """A baseline's value for an answer; None with the reason in `problem`."""

    measure: str
    value: float | None
    problem: str


class ShownRating(NamedTuple):
    """A person's rating of an answer, 0 to 5."""

    rater: str
    rating: float


@dataclass(frozen=True)
class GradedAnswer(BrowsedRow):
    """An answer with its question. contexts: retrieval rule -> passages; calls: ledger keys."""

    system: str
    response: str | None
    problem: str
    grades: list[ShownScore]
    contexts: dict[str, list[ShownContext]]
    baselines: list[ShownSimilarity]
    ratings: list[ShownRating]
    calls: list[str]


@dataclass(frozen=True)
class AnswerBrowser:
    """The browser's rows and the values of its filters, as pages/ragcheck.js reads them."""

    kind: str
    systems: list[str]
    judges: list[str]
    rows: list[GradedAnswer]


def show_answers(
    questions: Sequence[ReferenceQuestion],
    answers: Sequence[SystemAnswer],
    contexts: Sequence[Context],
    scores: Sequence[JudgeScore],
    baselines: Sequence[BaselineSimilarity],
    ratings: Sequence[Rating],
) -> list[GradedAnswer]:
    """Make a browser row for every answer whose question is known, sorted by dataset, question and system."""
    question_of = {question.id: question for question in questions}
    context_of = {(context.question, context.system, context.rule): context for context in contexts}
    rows = [
        _show_answer(
            question_of[answer.question],
            answer,
            {
                rule: show_passages(context_of[answer.question, answer.system, rule].passages)
                for rule in RULES
                if (answer.question, answer.system, rule) in context_of
            },
            [score for score in scores if score.answer == answer.id],
            [baseline for baseline in baselines if baseline.answer == answer.id],
            [rating for rating in ratings if rating.answer == answer.id],
        )
        for answer in answers
        if answer.question in question_of
    ]
    return sorted(rows, key=lambda row: (row.dataset, row.key, row.system))


def _show_answer(
    question: ReferenceQuestion,
    answer: SystemAnswer,
    contexts: dict[str, list[ShownContext]],
    scores: Sequence[JudgeScore],
    baselines: Sequence[BaselineSimilarity],
    ratings: Sequence[Rating],
) -> GradedAnswer:
    return GradedAnswer(
        id=answer.id,
        question=question.question,
        reference=question.reference,
        dataset=question.dataset,
        key=question.key,
        language=question.language,
        history=show_history(question),
        system=answer.system,
        response=answer.text,
        problem=answer.problem,
        grades=[
            ShownScore(score.rule, score.judge, score.score, score.feedback, score.problem)
            for score in sorted(scores, key=lambda score: (score.judge, score.rule))
        ],
        contexts=contexts,
        baselines=[
            ShownSimilarity(baseline.measure, baseline.value, baseline.problem)
            for baseline in sorted(baselines, key=lambda baseline: MEASURES.index(baseline.measure))
        ],
        ratings=[ShownRating(rating.rater, rating.rating) for rating in ratings],
        calls=list_calls(answer.origin, *(score.origin for score in scores)),
    )
