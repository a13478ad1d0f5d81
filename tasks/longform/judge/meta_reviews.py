"""Stage: have meta-reviewers judge every step, given its reviews (section 4.2.2 of the paper)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tasks.artifacts.rows import Drafts
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.exhibits import show_opinions, show_step
from tasks.longform.judge.opinions import Opinion, PeerPrompts, ask_peer, make_review, make_review_id, skip
from tasks.longform.judge.peers import Review, group_reviews, list_steps, rank_items
from tasks.longform.labels import Verdict
from tasks.longform.solve.interaction import Interaction, find_gap
from tasks.models.ask import Answer, Ask

NOTHING = "no review has a verdict"


class MetaReviewing(PeerPrompts):
    """The settings in params.yaml under `longform.meta_reviews`."""


async def meta_reviews(
    items: list[LongformItem],
    interactions: list[Interaction],
    reviews: list[Review],
    entry: AgentEvaluation,
    params: MetaReviewing,
    ask: Ask,
) -> Drafts[Review]:
    """Have each meta-reviewer of an item judge each step, given the step and all reviews of the step.

    Reviews without a verdict are not shown. If no review of a step has a verdict, the step's rows have no
    verdict either, and no request is sent.
    """
    ranks, groups = rank_items(items), group_reviews(reviews)
    made = (
        weigh_reviews(
            item,
            interaction,
            step,
            reviewer,
            groups.get((interaction.id, step), ()),
            entry.reviewer,
            params,
            ask,
        )
        for item, interaction, step in list_steps(items, interactions)
        for reviewer in range(entry.count_peers(ranks[item.id])[1])
    )
    return Drafts(await asyncio.gather(*made))


async def weigh_reviews(
    item: LongformItem,
    interaction: Interaction,
    step: str,
    reviewer: int,
    reviews: Sequence[Review],
    role: str,
    params: MetaReviewing,
    ask: Ask,
) -> Review:
    """Have one meta-reviewer judge one step. Raises ModelFailed, BudgetSpent, CallMissing."""
    seen = [review for review in reviews if review.verdict is not None]
    if problem := find_gap(interaction) or ("" if seen else NOTHING):
        return make_review("meta_reviews", interaction, step, reviewer, skip(problem), reviews, "reviews")
    row = make_review_id("meta_reviews", interaction, step, reviewer)
    answer = await ask_meta_reviewer(item, interaction, step, seen, role, row, params, ask, sample=reviewer)
    return make_review("meta_reviews", interaction, step, reviewer, answer, seen, "reviews")


async def ask_meta_reviewer(
    item: LongformItem,
    interaction: Interaction,
    step: str,
    seen: Sequence[Review],
    role: str,
    row: str,
    params: MetaReviewing,
    ask: Ask,
    *,
    sample: int,
) -> Answer[Opinion[Verdict]]:
    """Ask a meta-reviewer about one step.

    `row`: the id for error messages. `seen`: reviews with verdicts, in the order in which the prompt shows
    the reviews. Raises ModelFailed, BudgetSpent, CallMissing.
    """
    tokens = params.prompt_tokens
    return await ask_peer(
        "review_meta",
        (*show_step(item, interaction, step, tokens), show_opinions("Reviews of this step", seen, tokens)),
        step,
        params,
        role=role,
        row=row,
        ask=ask,
        sample=sample,
    )
