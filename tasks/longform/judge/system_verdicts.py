"""Stage of nightly runs: compare the answers of a user's system with the reference answers."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.artifacts.rows import Drafts
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.reference_verdicts import ReferenceJudging, ReferenceVerdict, judge_answers
from tasks.longform.judge.reference_verdicts import list_answered as list_answered
from tasks.longform.judge.reference_verdicts import list_scored as list_scored
from tasks.longform.own_entries import SystemLimits
from tasks.longform.solve.interaction import Interaction
from tasks.models.ask import Ask
from tasks.settings import read_section


async def system_verdicts(
    items: list[LongformItem], interactions: list[Interaction], settings: Mapping[str, object], ask: Ask
) -> Drafts[ReferenceVerdict]:
    """Judge the answers as `reference_verdicts` does, with the judge of `longform.system_interactions`.

    settings: the parameters `longform.system_interactions` and `longform.reference_verdicts`.
    """
    limits = read_section(settings, "longform.system_interactions", SystemLimits)
    judging = read_section(settings, "longform.reference_verdicts", ReferenceJudging)
    return await judge_answers(items, interactions, limits.judge, judging, ask)
