"""Stage: ask every system every question (Part I: correctness)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.models.ask import Ask
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.systems import build_systems
from tasks.systems.build import SystemEntry
from tasks.systems.contract import Passage, System, Turn, name_documents


@dataclass(frozen=True)
class SystemAnswer:
    """Row of the stage `answers`: a system's answer to a question.

    text: None if there is no answer; `problem` then has the reason.
    """

    id: str
    question: str
    system: str
    version: str
    text: str | None
    problem: str
    passages: tuple[Passage, ...] | None
    """The passages that the answer is based on, best first; None if the system does not return them."""
    origin: tuple[Origin, ...]


async def answers(
    questions: list[ReferenceQuestion],
    corpus: Path,
    entry: Assessment,
    systems: dict[str, SystemEntry],
    ask: Ask,
) -> Drafts[SystemAnswer]:
    """Ask every system every question; a failed answer becomes a row with `text` None and the reason.

    corpus: Parquet file of the documents, for systems that retrieve from them. Raises BadInput if a system is
    missing from params.yaml.
    """
    built, known = build_systems(entry.systems, systems, corpus, ask)
    return Drafts(await answer_all(built, questions, known))


async def answer_all(
    systems: Sequence[System], questions: Sequence[ReferenceQuestion], corpus: Collection[str]
) -> list[SystemAnswer]:
    """Ask the given systems all questions; the answers are ordered by system, then by question.

    corpus: the ids of all documents.
    """
    return await asyncio.gather(
        *(_answer(system, question, corpus) for system in systems for question in questions)
    )


async def _answer(system: System, question: ReferenceQuestion, corpus: Collection[str]) -> SystemAnswer:
    history = [Turn(turn.question, turn.answer) for turn in question.history]
    response = await system.answer(question.question, row=question.id, history=history)
    return SystemAnswer(
        id=make_id(question.id, system.name, system.version, response.text),
        question=question.id,
        system=system.name,
        version=system.version,
        text=response.text,
        problem=response.problem,
        passages=response.passages,
        origin=(
            Origin("row", f"questions#{question.id}"),
            *name_documents(response.passages, "corpus", corpus),
            *(Origin("call", call) for call in dict.fromkeys(response.calls)),
        ),
    )
