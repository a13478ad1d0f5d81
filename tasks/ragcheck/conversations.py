"""Stage: conversations that seek each reference answer from each system (Part II)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.judging.scored import Scored
from tasks.models.ask import Ask
from tasks.ragcheck.agents import ConversationOptions
from tasks.ragcheck.contexts import retrieve_by_rule
from tasks.ragcheck.conversing import converse
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.grading import JudgingOptions
from tasks.ragcheck.rows import BY_REFERENCE, Conversation, ReferenceQuestion
from tasks.ragcheck.sampling import sample_evenly
from tasks.ragcheck.systems import build_systems
from tasks.systems.build import SystemEntry
from tasks.systems.contract import Document, System


async def conversations(
    questions: list[ReferenceQuestion],
    corpus: Path,
    entry: Continuity,
    systems: dict[str, SystemEntry],
    params: ConversationOptions,
    settings: Mapping[str, Any],
    ask: Ask,
) -> Drafts[Conversation]:
    """Lead a conversation for every question and system. Failed ones are rows without scores.

    A question that stands in the middle of somebody else's conversation is no target: it is dropped.
    """
    targets = [question for question in questions if not question.history]
    built = build_systems(entry.systems, systems, read_rows(corpus, Document), ask)
    judging = JudgingOptions.find(settings)
    chosen = sample_evenly(targets, entry.take, 0)
    rows = await converse_all(built, chosen, params, judging, entry.judge, ask)
    names = {question.id for question in chosen}
    return Drafts(
        rows,
        [
            Dropped(
                question.id,
                "not_taken" if not question.history else "later_turn",
                question.key,
                (Origin("row", f"questions#{question.id}"),),
            )
            for question in questions
            if question.id not in names
        ],
    )


async def converse_all(
    systems: Sequence[System],
    questions: Sequence[ReferenceQuestion],
    params: ConversationOptions,
    judging: JudgingOptions,
    judge: str,
    ask: Ask,
) -> list[Conversation]:
    """Lead conversations with systems that are already made."""

    async def lead(question: ReferenceQuestion, system: System) -> Conversation:
        # Without contexts of its own a system is judged by the reference alone.
        passages = await retrieve_by_rule(system, question, BY_REFERENCE) or ()
        return await converse(question, system, passages, params, judging, judge, ask)

    return await asyncio.gather(*(lead(question, system) for question in questions for system in systems))


def list_scored(conversations: Iterable[Conversation]) -> list[Scored]:
    """Say how good each conversation was, for nights: its weighted score (wscore)."""
    return [Scored(talk.id, talk.question, talk.wscore) for talk in conversations]
