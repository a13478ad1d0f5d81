"""Stage: test the judge on cases with known verdicts, with the prompt and settings of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.artifacts.rows import Drafts
from tasks.grammar.assess.judge import judge_once
from tasks.judging.canaries import Canary, CanaryRow, judge_canaries, read_canaries
from tasks.models.ask import Answer, Ask


async def canaries(settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Judge every canary once. settings: those of `grammar.judgements`, by which answers are judged."""
    feedback = bool(settings.get("grammar.judgements.feedback", False))

    async def judge(canary: Canary) -> Answer[str]:
        return await judge_once(
            canary.query,
            canary.answer,
            canary.response,
            ask=ask,
            row=canary.id,
            feedback=feedback,
        )

    return Drafts(await judge_canaries(read_canaries("label"), judge))
