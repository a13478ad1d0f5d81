"""Stage: request verdicts on some items again, to measure how much verdicts depend on seed and order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.meta_reviews import MetaReviewing, ask_meta_reviewer
from tasks.longform.judge.opinions import Opinion, skip
from tasks.longform.judge.peers import Review, group_reviews, list_steps, rank_items
from tasks.longform.judge.reference_verdicts import ReferenceJudging, ReferenceVerdict, ask_judge
from tasks.longform.labels import ANSWER, Verdict
from tasks.longform.solve.interaction import Interaction, find_no_answer
from tasks.models.ask import Answer, Ask
from tasks.settings import Settings, read_section

AGAIN, SWAPPED = "again", "swapped"
"""The two ways to repeat a request; see `JudgeRepeat.way`."""
SAME = "not asked: at temperature 0, the repeated request would be identical"
SAME_REVIEWS = "not asked: the reviews are the same in either order"
SAMPLE = 1
"""The sample number of the repeated call; the call for the first verdict has sample number 0."""


@dataclass(frozen=True)
class JudgeRepeat:
    """Row of the stage `judge_repeats`: a verdict that was requested again."""

    id: str
    interaction: str
    item: str
    part: str
    """`match` for the comparison of the answer with the reference; `IP`, `TE` or `IS` for a step."""
    way: str
    """`again`: the same texts with another seed. `swapped`: the compared texts in the other order."""
    before: Verdict | None
    """The judge's first verdict, before any rule lowered it; None if the reply had no verdict."""
    verdict: Verdict | None
    """The repeated verdict; None if the reply had no verdict, or if no request was sent."""
    problem: str
    """The reason why there is no repeated verdict.

    The reason begins with `not asked` if the request would be identical to the first.
    """
    origin: tuple[Origin, ...]


class JudgeRepeating(Settings):
    """The settings in params.yaml under `longform.judge_repeats`."""

    items: int = Field(default=3, ge=0)
    """Number of items (the first items by id) whose verdicts are repeated, for all agents and models.

    If the number is 0, no verdict is repeated.
    """


async def judge_repeats(
    items: list[LongformItem],
    interactions: list[Interaction],
    reference_verdicts: list[ReferenceVerdict],
    reviews: list[Review],
    meta_reviews: list[Review],
    entry: AgentEvaluation,
    params: JudgeRepeating,
    settings: Mapping[str, object],
    ask: Ask,
) -> Drafts[JudgeRepeat]:
    """Request the verdicts on the first items again, with the evaluation's prompts and settings.

    Each answer gets two requests: `again` changes only the seed, and `swapped` shows the answer before the
    reference. Each step with at least two verdicts from reviewers gets one request: `swapped` shows the
    reviews to the first meta-reviewer in reverse order. A request that would be identical to the first is not
    sent; the row's `problem` then begins with `not asked`. settings: the parameters
    `longform.reference_verdicts`, `longform.meta_reviews` and `roles`.
    """
    ranks = rank_items(items)
    chosen = [made for made in interactions if ranks[made.item] < params.items]
    by_id = {item.id: item for item in items}
    verdicts = {verdict.interaction: verdict for verdict in reference_verdicts}
    firsts = {(row.interaction, row.step): row for row in meta_reviews if row.reviewer == 0}
    groups = group_reviews(review for review in reviews if review.verdict is not None)
    judging = read_section(settings, "longform.reference_verdicts", ReferenceJudging)
    weighing = read_section(settings, "longform.meta_reviews", MetaReviewing)
    varies = bool(settings.get(f"roles.{entry.judge}.temperature"))
    answers = (
        repeat_verdict(by_id[made.item], made, verdicts[made.id], way, varies, entry.judge, judging, ask)
        for made in chosen
        if not find_no_answer(made)
        for way in (AGAIN, SWAPPED)
    )
    steps = (
        repeat_meta_review(item, made, firsts[made.id, step], seen, entry.reviewer, weighing, ask)
        for item, made, step in list_steps(items, chosen)
        if len(seen := groups.get((made.id, step), ())) > 1
    )
    return Drafts(await asyncio.gather(*answers, *steps))


async def repeat_verdict(
    item: LongformItem,
    interaction: Interaction,
    before: ReferenceVerdict,
    way: str,
    varies: bool,
    role: str,
    params: ReferenceJudging,
    ask: Ask,
) -> JudgeRepeat:
    """Judge one answer again. varies: whether the role's temperature is above 0.

    Raises ModelFailed, BudgetSpent, CallMissing.
    """
    row = make_id("judge_repeats", interaction.id, ANSWER, way)
    if way == SWAPPED:
        answer = await ask_judge(item, interaction, role, row, params, ask, answer_first=True)
    elif varies:
        answer = await ask_judge(item, interaction, role, row, params, ask, sample=SAMPLE)
    else:
        answer = skip(SAME)
    stands = Origin("row", f"reference_verdicts#{before.id}")
    return _make_row(row, interaction, ANSWER, way, before.by_judge, answer, stands)


async def repeat_meta_review(
    item: LongformItem,
    interaction: Interaction,
    before: Review,
    seen: Sequence[Review],
    role: str,
    params: MetaReviewing,
    ask: Ask,
) -> JudgeRepeat:
    """Repeat a step's meta-review with the reviews in reverse order.

    seen: the reviews that the first request showed, all with verdicts. Raises ModelFailed, BudgetSpent,
    CallMissing.
    """
    row = make_id("judge_repeats", interaction.id, before.step, SWAPPED)
    turned = seen[::-1]
    if _list_said(turned) == _list_said(seen):
        answer = skip(SAME_REVIEWS)
    else:
        answer = await ask_meta_reviewer(
            item, interaction, before.step, turned, role, row, params, ask, sample=before.reviewer
        )
    stands = Origin("row", f"meta_reviews#{before.id}")
    return _make_row(row, interaction, before.step, SWAPPED, before.verdict, answer, stands)


def _list_said(reviews: Sequence[Review]) -> list[tuple[Verdict | None, str]]:
    return [(review.verdict, review.rationale) for review in reviews]


def _make_row(
    row: str,
    interaction: Interaction,
    part: str,
    way: str,
    before: Verdict | None,
    answer: Answer[Opinion[Verdict]],
    stands: Origin,
) -> JudgeRepeat:
    return JudgeRepeat(
        id=row,
        interaction=interaction.id,
        item=interaction.item,
        part=part,
        way=way,
        before=before,
        verdict=answer.value.verdict if answer.value else None,
        problem="" if answer.value else answer.problem,
        origin=(stands, Origin("call", answer.call)) if answer.call else (stands,),
    )


def was_asked(repeat: JudgeRepeat) -> bool:
    """Return whether the repeated request was sent; a request that is identical to the first is not sent."""
    return repeat.problem not in (SAME, SAME_REVIEWS)
