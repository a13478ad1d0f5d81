"""Stage: ask the judge for verdicts on canaries, which are answers with known verdicts.

The artifact has no rows if only rules score the answers.
"""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.judging.canaries import Canary, CanaryRow, judge_canaries, read_canaries
from tasks.models.ask import Answer, Ask
from tasks.qa.entries import QaSystem
from tasks.qa.verdicts import judge_answer
from tasks.scoring.correctness import Correctness


async def canaries(entry: QaSystem, ask: Ask) -> Drafts[CanaryRow]:
    """Ask the judge for a verdict on every canary, with the evaluation's prompt."""
    if not entry.judged:
        return Drafts([])

    async def judge(canary: Canary) -> Answer[Correctness]:
        return await judge_answer(
            canary.query, [canary.answer], canary.response, role=entry.judge, row=canary.id, ask=ask
        )

    return Drafts(await judge_canaries(read_canaries("label"), judge))
