"""Stage: the judge tried on cases with known verdicts, by the prompt and settings of this evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.grammar.assess.judge import judge_once
from tasks.judging.canaries import Canary, CanaryRow, judge_canaries, read_canaries
from tasks.models.ask import Answer, Ask


async def canaries(settings: Mapping[str, Any], ask: Ask) -> Drafts[CanaryRow]:
    """Judge every canary once. settings: `grammar.judgements`, since answers are judged by the same."""
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
