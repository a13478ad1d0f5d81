"""Stage: have every judge grade canaries, which are answers with known grades (Part I)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tasks.artifacts.rows import Drafts
from tasks.judging.canaries import Canary, CanaryRow, judge_canaries, read_canaries
from tasks.models.ask import Answer, Ask
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.grading import JUDGING, JudgingOptions, grade_response
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.settings import read_section
from tasks.systems.contract import Passage


async def canaries(entry: Assessment, settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Have every judge of Part I grade every canary, with the evaluation's prompt and parameters."""
    return await grade_canaries(entry.judges, settings, ask)


async def grade_canaries(
    judges: Sequence[str], settings: Mapping[str, object], ask: Ask
) -> Drafts[CanaryRow]:
    """Have every judge grade every canary; a row's id is `<judge>/<canary>`.

    judges: names of roles. Raises BadInput for an unreadable canary file.
    """
    judging = read_section(settings, JUDGING, JudgingOptions)
    rows = []
    for name in judges:

        async def judge(canary: Canary, role: str = name) -> Answer[int]:
            question = ReferenceQuestion(canary.id, canary.id, "", "en", canary.query, canary.answer, (), ())
            passages = [Passage("", "", text, 0.0) for text in canary.contexts]
            answer = await grade_response(
                question, passages, canary.response, role=role, row=canary.id, judging=judging, ask=ask
            )
            score = answer.value.score if answer.value else None
            return Answer(score, answer.text, answer.call, answer.attempts, answer.problem)

        judged = await judge_canaries(read_canaries("score"), judge)
        rows += [replace(row, id=f"{name}/{row.id}") for row in judged]
    return Drafts(rows)
