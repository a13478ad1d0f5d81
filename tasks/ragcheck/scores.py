"""Stage: have every judge grade every answer, with the contexts of both rules (Part I)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.judging.answered import Answered, Scored
from tasks.models.ask import Ask
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.contexts import Context
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.grading import JUDGING, JudgingOptions, grade_response, read_grade
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.settings import read_section


@dataclass(frozen=True)
class JudgeScore:
    """Row of the stage `scores`: a judge's score for an answer, 1 to 5.

    The score is 0 for "not sure", and None for a reply without a score.
    """

    id: str
    answer: str
    question: str
    system: str
    rule: str
    judge: str
    score: int | None
    feedback: str
    problem: str
    origin: tuple[Origin, ...]


async def scores(
    questions: list[ReferenceQuestion],
    answers: list[SystemAnswer],
    contexts: list[Context],
    entry: Assessment,
    settings: Mapping[str, object],
    ask: Ask,
) -> Drafts[JudgeScore]:
    """Have every judge grade every answer; a reply without a grade becomes a row with score None."""
    judging = read_section(settings, JUDGING, JudgingOptions)
    question_of = {question.id: question for question in questions}
    contexts_of: dict[tuple[str, str], list[Context]] = {}
    for context in contexts:
        contexts_of.setdefault((context.question, context.system), []).append(context)
    # Sort the rows so that requests with a common prefix (judge, contexts, question) follow each other.
    requests = [
        (judge, context, answer)
        for judge in entry.judges
        for answer in sorted(answers, key=lambda answer: (answer.question, answer.system, answer.id))
        for context in sorted(
            contexts_of.get((answer.question, answer.system), []), key=lambda context: context.rule
        )
        if answer.text is not None and answer.question in question_of
    ]
    return Drafts(
        await asyncio.gather(
            *(
                _score(question_of[answer.question], answer, context, judge, judging, ask)
                for judge, context, answer in requests
            )
        )
    )


async def _score(
    question: ReferenceQuestion,
    answer: SystemAnswer,
    context: Context,
    judge: str,
    judging: JudgingOptions,
    ask: Ask,
) -> JudgeScore:
    answered = await grade_response(
        question, context.passages, answer.text or "", role=judge, row=answer.id, judging=judging, ask=ask
    )
    grade = read_grade(answered)
    return JudgeScore(
        id=make_id(answer.id, context.rule, judge),
        answer=answer.id,
        question=question.id,
        system=answer.system,
        rule=context.rule,
        judge=judge,
        score=grade.score,
        feedback=grade.feedback,
        problem=grade.problem,
        origin=(
            Origin("row", f"answers#{answer.id}"),
            Origin("row", f"contexts#{context.id}"),
            Origin("call", answered.call),
        ),
    )


def list_scored(scores: Iterable[JudgeScore]) -> list[Scored]:
    """List each score, 1 to 5, for comparisons of nightly runs; None if missing or "not sure"."""
    return [Scored(score.id, score.question, float(score.score) if score.score else None) for score in scores]


def list_answered(
    questions: list[ReferenceQuestion], answers: list[SystemAnswer], scores: list[JudgeScore]
) -> list[Answered]:
    """List an `Answered` per score for comparisons; each combination of judge and rule is a metric."""
    asked, given = {row.id: row for row in questions}, {row.id: row for row in answers}
    return [
        Answered(
            id=row.id,
            case=row.question,
            system=row.system,
            metric=f"score {row.judge} {row.rule}",
            question=asked[row.question].question,
            reference=asked[row.question].reference,
            answer=given[row.answer].text or given[row.answer].problem,
            note=row.feedback or row.problem,
        )
        for row in scores
    ]
