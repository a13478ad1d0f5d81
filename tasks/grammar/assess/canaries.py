"""Stage: test the judge on cases with known verdicts, with the prompt and settings of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.artifacts.rows import Drafts
from tasks.grammar.assess.judge import judge_once
from tasks.judging.canaries import Canary, CanaryRow, judge_canaries, read_canaries
from tasks.judging.equality import find_equality
from tasks.models.ask import Answer, Ask


async def canaries(settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Have the judge label every canary once, those too that a rule of equality decides.

    settings: those of `grammar.judgements`, by which answers are judged.
    """
    feedback = bool(settings.get("grammar.judgements.feedback", False))
    rules = bool(settings.get("grammar.judgements.rules", True))

    def find_rule(canary: Canary) -> str:
        return find_equality(canary.answer, canary.response, canary.query) if rules else ""

    async def judge(canary: Canary) -> Answer[str]:
        return await judge_once(
            canary.query,
            canary.answer,
            canary.response,
            ask=ask,
            row=canary.id,
            feedback=feedback,
        )

    return Drafts(await judge_canaries(read_canaries("label"), judge, find_rule))
