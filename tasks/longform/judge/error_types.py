"""Stage: choose an error type for every imperfect step (section 4.5 of the paper)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.exhibits import show_opinions, show_step
from tasks.longform.judge.opinions import ask_opinion
from tasks.longform.judge.peers import Review
from tasks.longform.labels import ERRORS, ErrorType, Verdict
from tasks.longform.solve.interaction import Interaction
from tasks.models.ask import Ask
from tasks.settings import Settings


@dataclass(frozen=True)
class ErrorLabel:
    """Row of the stage `error_types`: the type of error in an imperfect step (see `ErrorType`)."""

    id: str
    interaction: str
    item: str
    step: str
    label: ErrorType | None
    problem: str
    origin: tuple[Origin, ...]


class ErrorTyping(Settings):
    """The settings in params.yaml under `longform.error_types`."""

    prompt_tokens: int = Field(default=3000, ge=1500)
    """Maximum number of tokens in a prompt (an estimate); query results are shortened to fit."""
    reply_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens in a reply. Reasoning models need more tokens."""


async def error_types(
    items: list[LongformItem],
    interactions: list[Interaction],
    revisions: list[Review],
    entry: AgentEvaluation,
    params: ErrorTyping,
    ask: Ask,
) -> Drafts[ErrorLabel]:
    """Have the reviewers' model choose one label for each step whose revised verdict is Imperfect."""
    by_id = {item.id: item for item in items}
    by_interaction = {interaction.id: interaction for interaction in interactions}
    labels = (
        label_error(
            by_id[revision.item], by_interaction[revision.interaction], revision, entry.reviewer, params, ask
        )
        for revision in revisions
        if revision.verdict == Verdict.IMPERFECT
    )
    return Drafts(await asyncio.gather(*labels))


async def label_error(
    item: LongformItem, interaction: Interaction, revision: Review, role: str, params: ErrorTyping, ask: Ask
) -> ErrorLabel:
    """Label one imperfect step. Raises ModelFailed, BudgetSpent, CallMissing."""
    row, tokens = make_id("error_types", interaction.id, revision.step), params.prompt_tokens
    found = show_opinions("What a review of this step found", [revision], tokens)
    answer = await ask_opinion(
        "error_type",
        (*show_step(item, interaction, revision.step, tokens), found),
        ERRORS[revision.step],
        words=0,
        tokens=params.reply_tokens,
        role=role,
        row=row,
        ask=ask,
        step=revision.step,
    )
    return ErrorLabel(
        id=row,
        interaction=interaction.id,
        item=item.id,
        step=revision.step,
        label=answer.value.verdict if answer.value else None,
        problem="" if answer.value else answer.problem,
        origin=(Origin("row", f"revisions#{revision.id}"), Origin("call", answer.call)),
    )
