"""Stage: test the judge and the reviewers on cases with known verdicts, as the evaluation asks them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.judging.canaries import OR, CanaryHealth, CanaryRow, measure_health
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.canary_file import PeerCanary, read_peer_canaries
from tasks.longform.judge.reference_verdicts import ReferenceJudging, judge_answer
from tasks.longform.judge.reviews import Reviewing, review_step
from tasks.longform.judge.rows import STEPS
from tasks.longform.rows import KINDS
from tasks.models.ask import Ask
from tasks.settings import read_section


@dataclass(frozen=True)
class PeerHealth:
    """Results on the canaries of the two judges, who may be one model."""

    judge: CanaryHealth
    reviewer: CanaryHealth


async def peer_canaries(
    entry: AgentEvaluation, settings: Mapping[str, object], ask: Ask
) -> Drafts[CanaryRow]:
    """Have the judge judge the answers among the canaries, and the reviewer review the steps.

    settings: `longform.reference_verdicts` and `longform.reviews`, by which the evaluation is judged. Half of
    the conclusive canaries and half of the steps deserve the worse verdict, so that a judge that is always
    content is right on half of them. Raises BadInput for an unreadable canary file.
    """
    judging = read_section(settings, "longform.reference_verdicts", ReferenceJudging)
    reviewing = read_section(settings, "longform.reviews", Reviewing)
    tried = (try_canary(canary, entry, judging, reviewing, ask) for canary in read_peer_canaries())
    return Drafts(await asyncio.gather(*tried))


async def try_canary(
    canary: PeerCanary, entry: AgentEvaluation, judging: ReferenceJudging, reviewing: Reviewing, ask: Ask
) -> CanaryRow:
    """Try one canary. Raises ModelFailed, BudgetSpent, CallMissing."""
    item, interaction = canary.make_item(), canary.make_interaction()
    if canary.kind in STEPS:
        review = await review_step(item, interaction, canary.kind, 0, entry.reviewer, reviewing, ask)
        return _make_row(canary, review.verdict, review.problem, review.origin)
    verdict = await judge_answer(item, interaction, entry.judge, judging, ask)
    return _make_row(canary, verdict.verdict, verdict.problem, verdict.origin)


def _make_row(canary: PeerCanary, given: str | None, problem: str, origin: Iterable[Origin]) -> CanaryRow:
    calls = tuple(made for made in origin if made.kind == "call")
    return CanaryRow(
        id=canary.id,
        kind=canary.kind,
        expected=OR.join(canary.accepted),
        given=given,
        rule="",
        agreed=None if given is None else given in canary.accepted,
        call="".join(call.reference for call in calls),
        problem=problem,
        further=False,
        origin=calls,
    )


def name_judge(row: CanaryRow) -> str:
    """Name the judge that a canary tries, for nights: the scores that they compare are no reviewer's."""
    return "reviewer" if row.kind in STEPS else ""


def measure_peers(rows: Iterable[CanaryRow]) -> PeerHealth:
    """Count right, wrong and unscored verdicts, of the judge and of the reviewer apart."""
    listed = list(rows)
    return PeerHealth(
        judge=measure_health(row for row in listed if row.kind in KINDS),
        reviewer=measure_health(row for row in listed if row.kind in STEPS),
    )
