"""Stage of nightly runs: test the judge of a user's system on answers with known verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tasks.artifacts.rows import Drafts
from tasks.judging.canaries import CanaryRow
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.peer_canaries import read_peer_canaries, try_canary
from tasks.longform.judge.reference_verdicts import ReferenceJudging
from tasks.longform.judge.reviews import Reviewing
from tasks.longform.labels import KINDS
from tasks.longform.own_entries import OwnAgent, SystemLimits
from tasks.models.ask import Ask
from tasks.settings import read_section


async def system_canaries(entry: OwnAgent, settings: Mapping[str, object], ask: Ask) -> Drafts[CanaryRow]:
    """Get the judge's verdicts on the canaries that are answers.

    Nightly runs review no steps, so the canaries that are steps are skipped.

    settings: the parameters `longform.system_interactions`, which name the judge, and
    `longform.reference_verdicts`.
    """
    limits = read_section(settings, "longform.system_interactions", SystemLimits)
    judging = read_section(settings, "longform.reference_verdicts", ReferenceJudging)
    judges = AgentEvaluation(set=entry.set, judge=limits.judge, reviewer=limits.reviewer)
    tried = (
        try_canary(canary, judges, judging, Reviewing(), ask)
        for canary in read_peer_canaries()
        if canary.kind in KINDS
    )
    return Drafts(await asyncio.gather(*tried))
