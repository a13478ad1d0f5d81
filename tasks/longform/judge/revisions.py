"""Stage: judge every step again from its meta-reviews, disregarding two unfair criticisms.

Appendix A of the paper describes this revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tasks.artifacts.rows import Drafts
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.exhibits import show_opinions, show_step
from tasks.longform.judge.opinions import Opinion, PeerPrompts, ask_peer, make_review, make_review_id, skip
from tasks.longform.judge.peers import Review, decide, group_reviews, list_steps, list_verdicts
from tasks.longform.labels import Verdict
from tasks.longform.solve.interaction import Interaction, find_gap
from tasks.models.ask import Answer, Ask

NOTHING = "fewer than half of the meta-reviews have a verdict"


class Revising(PeerPrompts):
    """The settings in params.yaml under `longform.revisions`."""


async def revisions(
    items: list[LongformItem],
    interactions: list[Interaction],
    meta_reviews: list[Review],
    entry: AgentEvaluation,
    params: Revising,
    ask: Ask,
) -> Drafts[Review]:
    """Judge each step of each interaction once; every row has reviewer number 0.

    Two criticisms are disregarded:

    - the sample rows in the database description do not include the retrieved rows
    - join keys have different but compatible types

    If every meta-review with a verdict is Perfect, the revised verdict is Perfect, without a request or a
    rationale. If fewer than half of the meta-reviews have a verdict, the row has no verdict, and no request
    is sent.
    """
    groups = group_reviews(meta_reviews)
    made = (
        revise_step(
            item, interaction, step, groups.get((interaction.id, step), ()), entry.reviewer, params, ask
        )
        for item, interaction, step in list_steps(items, interactions)
    )
    return Drafts(await asyncio.gather(*made))


async def revise_step(
    item: LongformItem,
    interaction: Interaction,
    step: str,
    meta_reviews: Sequence[Review],
    role: str,
    params: Revising,
    ask: Ask,
) -> Review:
    """Judge one step again from its meta-reviews. Raises ModelFailed, BudgetSpent, CallMissing."""
    seen = [review for review in meta_reviews if review.verdict is not None]
    problem = find_gap(interaction) or ("" if decide(list_verdicts(meta_reviews)) else NOTHING)
    if problem:
        answer = skip(problem)
    elif all(review.verdict == Verdict.PERFECT for review in seen):
        answer = Answer(Opinion(Verdict.PERFECT, ""), "", "", 0)
    else:
        tokens = params.prompt_tokens
        answer = await ask_peer(
            "revise_step",
            (
                *show_step(item, interaction, step, tokens),
                show_opinions("Meta-reviews of this step", seen, tokens),
            ),
            step,
            params,
            role=role,
            row=make_review_id("revisions", interaction, step, 0),
            ask=ask,
        )
    return make_review("revisions", interaction, step, 0, answer, meta_reviews, "meta_reviews")
