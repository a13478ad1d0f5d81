"""Stage: every judge grades every answer, by both contexts (Part I)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.judging.scored import Scored
from tasks.models.ask import Ask
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.grading import JudgingOptions, grade_response, read_grade
from tasks.ragcheck.rows import Context, JudgeScore, ReferenceQuestion, SystemAnswer


async def scores(
    questions: list[ReferenceQuestion],
    answers: list[SystemAnswer],
    contexts: list[Context],
    entry: Assessment,
    settings: Mapping[str, Any],
    ask: Ask,
) -> Drafts[JudgeScore]:
    """Grade all answers that there are. A reply that is no grade is a row whose score is None."""
    judging = JudgingOptions.find(settings)
    asked = {question.id: question for question in questions}
    beside: dict[tuple[str, str], list[Context]] = {}
    for context in contexts:
        beside.setdefault((context.question, context.system), []).append(context)
    # Requests that begin alike follow each other: judge, contexts and question come before the response.
    wanted = [
        (judge, context, answer)
        for judge in entry.judges
        for answer in sorted(answers, key=lambda answer: (answer.question, answer.system, answer.id))
        for context in sorted(
            beside.get((answer.question, answer.system), []), key=lambda context: context.rule
        )
        if answer.text is not None and answer.question in asked
    ]
    return Drafts(
        await asyncio.gather(
            *(
                _score(asked[answer.question], answer, context, judge, judging, ask)
                for judge, context, answer in wanted
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
    """Say how good each answer was, for nights: 1 to 5 by each judge and rule; "not sure" is no score."""
    return [Scored(score.id, score.question, float(score.score) if score.score else None) for score in scores]
