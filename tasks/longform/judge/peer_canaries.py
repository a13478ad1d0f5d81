"""Stage: test the judge and the reviewers on cases with known verdicts, using the evaluation's prompts.

The cases, in peer_canaries.yaml, are answers and steps about invented subjects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from tasks.artifacts.rows import Drafts, Origin
from tasks.judging.canaries import OR, CanaryHealth, CanaryRow, KnownCase, measure_health, read_cases
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.reference_verdicts import ReferenceJudging, judge_answer
from tasks.longform.judge.reviews import Reviewing, review_step
from tasks.longform.labels import CHOICES, CONCLUSIVE, KINDS, STEPS, Verdict
from tasks.longform.solve.interaction import AgentQuery, Interaction
from tasks.models.ask import Ask
from tasks.settings import Settings, read_section

FILE = Path(__file__).with_name("peer_canaries.yaml")
Cell = int | float | str | None


class CanaryQuery(Settings):
    """A query in a canary's interaction, with its whole result or its error."""

    sql: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    error: str = ""


class PeerCanary(KnownCase):
    """A canary: an answer to compare with a reference, or a step to review, and the accepted verdicts."""

    kind: Literal["conclusive", "interpretive", "IP", "TE", "IS"]
    question: str
    reference: str = ""
    """The reference answer, only for the kinds `conclusive` and `interpretive`.

    The fields `script`, `plan` and `queries` are only for steps; `answer` is for all kinds.
    """
    script: str = ""
    plan: str = ""
    queries: tuple[CanaryQuery, ...] = ()
    answer: str = "(not reviewed)"

    @model_validator(mode="after")
    def _check_verdicts(self) -> PeerCanary:
        if not set(self.accepted) <= set(CHOICES[self.kind]):
            raise ValueError(f"accepted contains a value other than {', '.join(CHOICES[self.kind])}")
        return self

    def make_item(self) -> LongformItem:
        """Make the item that the canary is about.

        For a step, the item's kind does not matter, because reviewers see no reference.
        """
        kind = self.kind if self.kind in KINDS else CONCLUSIVE
        return LongformItem(self.id, "", self.question, kind, self.reference, (), self.script, "model", ())

    def make_interaction(self) -> Interaction:
        """Make the interaction to judge."""
        queries = tuple(
            AgentQuery(query.sql, query.columns, json.dumps(query.rows), len(query.rows), query.error)
            for query in self.queries
        )
        return Interaction(
            id=self.id, item=self.id, agent="sequential", model="", plan=self.plan, queries=queries,
            answer=self.answer, steps=(), left_out=(), problem="", origin=(),
        )  # fmt: skip


def read_peer_canaries(path: Path = FILE) -> tuple[PeerCanary, ...]:
    """Read the canaries, sorted by id. Raises BadInput for an unreadable or malformed file."""
    return read_cases(path, PeerCanary)


@dataclass(frozen=True)
class PeerHealth:
    """Results on the canaries, for the judge and for the reviewer, which may be the same model."""

    judge: CanaryHealth
    reviewer: CanaryHealth


async def peer_canaries(
    entry: AgentEvaluation, settings: Mapping[str, object], ask: Ask
) -> Drafts[CanaryRow]:
    """Get the judge's verdicts on canaries that are answers, and the reviewer's verdicts on steps.

    settings: the evaluation's parameters `longform.reference_verdicts` and `longform.reviews`. For half of
    the conclusive canaries and half of the steps, the worse verdict is right. A judge that always gives the
    better verdict is therefore right on only half of these canaries. Raises BadInput for an unreadable canary
    file.
    """
    judging = read_section(settings, "longform.reference_verdicts", ReferenceJudging)
    reviewing = read_section(settings, "longform.reviews", Reviewing)
    tried = (try_canary(canary, entry, judging, reviewing, ask) for canary in read_peer_canaries())
    return Drafts(await asyncio.gather(*tried))


async def try_canary(
    canary: PeerCanary, entry: AgentEvaluation, judging: ReferenceJudging, reviewing: Reviewing, ask: Ask
) -> CanaryRow:
    """Judge one canary. Raises ModelFailed, BudgetSpent, CallMissing."""
    item, interaction = canary.make_item(), canary.make_interaction()
    if canary.kind in STEPS:
        review = await review_step(item, interaction, canary.kind, 0, entry.reviewer, reviewing, ask)
        return _make_row(canary, review.verdict, review.problem, review.origin)
    verdict = await judge_answer(item, interaction, entry.judge, judging, ask)
    settled, own = verdict.verdict, verdict.by_judge
    return _make_row(canary, own, verdict.problem, verdict.origin, rule=verdict.rule, settled=settled)


def _make_row(
    canary: PeerCanary,
    given: Verdict | None,
    problem: str,
    origin: Iterable[Origin],
    *,
    rule: str = "",
    settled: Verdict | None = None,
) -> CanaryRow:
    """Make a canary's row.

    given: the judge's own verdict. settled: the verdict after the rules, used only if `rule` is not empty.
    """
    final = settled if rule else given
    calls = tuple(made for made in origin if made.kind == "call")
    return CanaryRow(
        id=canary.id,
        kind=canary.kind,
        expected=OR.join(canary.accepted),
        given=given,
        rule=rule,
        agreed=None if final is None else final in canary.accepted,
        call="".join(call.reference for call in calls),
        problem=problem,
        further=False,
        origin=calls,
    )


def name_judge(row: CanaryRow) -> str:
    """Name the judge that a canary tests, for nightly runs.

    The name is empty for the reference judge, whose scores are compared between nightly runs.
    """
    return "reviewer" if row.kind in STEPS else ""


def measure_peers(rows: Iterable[CanaryRow]) -> PeerHealth:
    """Count right, wrong and unscored verdicts on the canaries, separately for the judge and the reviewer."""
    listed = list(rows)
    return PeerHealth(
        judge=measure_health(row for row in listed if row.kind in KINDS),
        reviewer=measure_health(row for row in listed if row.kind in STEPS),
    )
