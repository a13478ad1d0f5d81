"""Stage: have reviewers judge every step of an interaction, without a reference answer.

Section 4.2.2 of the paper describes this peer review.
"""

from __future__ import annotations

import asyncio

from tasks.artifacts.rows import Drafts
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.exhibits import show_step
from tasks.longform.judge.opinions import PeerPrompts, ask_peer, make_review, make_review_id, skip
from tasks.longform.judge.peers import Review, list_steps, rank_items
from tasks.longform.solve.interaction import Interaction, find_gap
from tasks.models.ask import Ask


class Reviewing(PeerPrompts):
    """The settings in params.yaml under `longform.reviews`.

    These settings also apply to reviews of canaries.
    """


async def reviews(
    items: list[LongformItem],
    interactions: list[Interaction],
    entry: AgentEvaluation,
    params: Reviewing,
    ask: Ask,
) -> Drafts[Review]:
    """Have each reviewer of an item judge the steps IP, TE and IS of its interactions.

    The agents `none` and `guess` do not query, so their interactions have no rows. The rows of an interaction
    without a plan or an answer have no verdict, and no request is sent.
    """
    ranks = rank_items(items)
    made = (
        review_step(item, interaction, step, reviewer, entry.reviewer, params, ask)
        for item, interaction, step in list_steps(items, interactions)
        for reviewer in range(entry.count_peers(ranks[item.id])[0])
    )
    return Drafts(await asyncio.gather(*made))


async def review_step(
    item: LongformItem,
    interaction: Interaction,
    step: str,
    reviewer: int,
    role: str,
    params: Reviewing,
    ask: Ask,
) -> Review:
    """Have one reviewer judge one step. Raises ModelFailed, BudgetSpent, CallMissing."""
    if problem := find_gap(interaction):
        return make_review("reviews", interaction, step, reviewer, skip(problem))
    answer = await ask_peer(
        "review_step",
        show_step(item, interaction, step, params.prompt_tokens),
        step,
        params,
        role=role,
        row=make_review_id("reviews", interaction, step, reviewer),
        ask=ask,
        # All reviewers get the same prompt; the sample number makes each request distinct.
        sample=reviewer,
    )
    return make_review("reviews", interaction, step, reviewer, answer)
