"""Stage: test the judge on canaries (cases with known verdicts), with the judgements' prompt and settings."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.artifacts.rows import Drafts
from tasks.grammar.assess.judgements import judge_once
from tasks.judging.canaries import FURTHER, Canary, CanaryRow, judge_canaries, read_canaries, try_rules
from tasks.judging.rules import find_rule
from tasks.models.ask import Answer, Ask
from tasks.scoring.correctness import Correctness


async def canaries(settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Return the judge's label for every canary, including canaries that a rule decides.

    `settings` contains the settings of `grammar.judgements`, so that canaries are judged in the same way as
    answers. The setting `judging.further_canaries` states whether to judge the second set of canaries. Raises
    StageFailed if the rules mislabel a canary in canaries_rules.yaml.
    """
    feedback = bool(settings.get("grammar.judgements.feedback", False))
    rules = bool(settings.get("grammar.judgements.rules", True))
    if rules:
        try_rules()

    def rule(canary: Canary) -> str:
        return find_rule(canary.answer, canary.response, canary.query).rule if rules else ""

    async def judge(canary: Canary) -> Answer[Correctness]:
        return await judge_once(
            canary.query,
            canary.answer,
            canary.response,
            ask=ask,
            row=canary.id,
            feedback=feedback,
        )

    rows = await judge_canaries(read_canaries("label"), judge, rule)
    if settings.get("judging.further_canaries", True):
        rows += await judge_canaries(read_canaries("label", FURTHER), judge, rule, further=True)
    return Drafts(rows)
