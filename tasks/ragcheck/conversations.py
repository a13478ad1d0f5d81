"""Stage: multi-turn conversations that try to get each reference answer out of each system (Part II)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.judging.answered import Answered
from tasks.judging.scored import Scored
from tasks.models.ask import Ask
from tasks.ragcheck.agents import ConversationOptions
from tasks.ragcheck.contexts import retrieve_by_reference
from tasks.ragcheck.conversing import run_conversation
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.grading import JUDGING, JudgingOptions
from tasks.ragcheck.rows import Conversation, ReferenceQuestion
from tasks.ragcheck.sampling import sample_evenly
from tasks.ragcheck.systems import build_systems
from tasks.settings import read_section
from tasks.systems.build import SystemEntry
from tasks.systems.contract import Document, System


async def conversations(
    questions: list[ReferenceQuestion],
    corpus: Path,
    entry: Continuity,
    systems: dict[str, SystemEntry],
    params: ConversationOptions,
    settings: Mapping[str, object],
    ask: Ask,
) -> Drafts[Conversation]:
    """Run a conversation for every question and system; failed ones are rows without scores.

    Questions with a history, from the middle of a conversation, are dropped (`later_turn`), as are those
    beyond `entry.take` (`not_taken`). Raises BadInput if params.yaml lacks a system.
    """
    targets = [question for question in questions if not question.history]
    documents = read_rows(corpus, Document)
    built = build_systems(entry.systems, systems, documents, ask)
    known = {document.id for document in documents}
    judging = read_section(settings, JUDGING, JudgingOptions)
    chosen = sample_evenly(targets, entry.take, 0)
    rows = await run_all(built, chosen, known, params, judging, entry.judge, ask)
    chosen_ids = {question.id for question in chosen}
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
            if question.id not in chosen_ids
        ],
    )


async def run_all(
    systems: Sequence[System],
    questions: Sequence[ReferenceQuestion],
    corpus: Collection[str],
    params: ConversationOptions,
    judging: JudgingOptions,
    judge: str,
    ask: Ask,
) -> list[Conversation]:
    """Run conversations with built systems, ordered by question, then system.

    corpus: the ids of the documents. judge: its role.
    """

    async def run(question: ReferenceQuestion, system: System) -> Conversation:
        # Without contexts of its own a system is judged by the reference alone.
        passages = await retrieve_by_reference(system, question) or ()
        return await run_conversation(question, system, passages, corpus, params, judging, judge, ask)

    return await asyncio.gather(*(run(question, system) for question in questions for system in systems))


def list_scored(conversations: Iterable[Conversation]) -> list[Scored]:
    """List each conversation's score for the comparison of nights: wscore; None if it failed."""
    return [
        Scored(conversation.id, conversation.question, conversation.wscore) for conversation in conversations
    ]


def list_answered(questions: list[ReferenceQuestion], conversations: list[Conversation]) -> list[Answered]:
    """List the conversation behind each score, for comparisons: what was asked and said, turn by turn."""
    asked = {row.id: row for row in questions}
    return [
        Answered(
            id=row.id,
            case=row.question,
            system=row.system,
            metric="wscore",
            question=asked[row.question].question,
            reference=asked[row.question].reference,
            answer="\n\n".join(f"{turn.query}\n{turn.said}" for turn in row.turns) or row.problem,
            note=f"{row.ended}: {', '.join(map(str, row.scores)) or row.problem}",
            further={"lscore": row.lscore, "mscore": row.mscore},
        )
        for row in conversations
    ]
