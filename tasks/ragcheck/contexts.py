"""Stage: the contexts that judges are shown, retrieved by each system itself under two rules (section 2.1).

Rule E2 retrieves by the question alone: the contexts the answer was made from, which may lack the truth. Rule
E3, the paper's method, retrieves by question and reference joined: contexts that cover the truth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.models.ask import Ask
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.rows import BY_QUESTION, RULES, Context, ReferenceQuestion
from tasks.ragcheck.systems import build_systems
from tasks.systems.build import SystemEntry
from tasks.systems.contract import Document, Passage, System


async def contexts(
    questions: list[ReferenceQuestion],
    corpus: Path,
    entry: Assessment,
    systems: dict[str, SystemEntry],
    ask: Ask,
) -> Drafts[Context]:
    """Retrieve for every system and question by both rules.

    A system that cannot retrieve without answering has dropped rows (`no_retrieval`). Raises BadInput if
    params.yaml lacks a system.
    """
    return await retrieve_all(
        build_systems(entry.systems, systems, read_rows(corpus, Document), ask), questions
    )


async def retrieve_all(systems: Sequence[System], questions: Sequence[ReferenceQuestion]) -> Drafts[Context]:
    """Retrieve with built systems, for all questions by both rules."""
    found = await asyncio.gather(
        *(_retrieve(system, question, rule) for system in systems for question in questions for rule in RULES)
    )
    return Drafts(
        [row for row in found if isinstance(row, Context)],
        [row for row in found if isinstance(row, Dropped)],
    )


async def retrieve_by_rule(
    system: System, question: ReferenceQuestion, rule: str
) -> tuple[Passage, ...] | None:
    """Retrieve passages for a question by rule E2 or E3, best first; None if the system cannot retrieve."""
    query = question.question if rule == BY_QUESTION else f"{question.question} {question.reference}"
    return await system.retrieve(query, row=question.id)


async def _retrieve(system: System, question: ReferenceQuestion, rule: str) -> Context | Dropped:
    row_id = make_id(question.id, system.name, system.version, rule)
    origin = (Origin("row", f"questions#{question.id}"),)
    passages = await retrieve_by_rule(system, question, rule)
    if passages is None:
        what = f"{system.name} does not retrieve without answering (it has no `search`)"
        return Dropped(row_id, "no_retrieval", what, origin)
    return Context(row_id, question.id, system.name, rule, passages, origin)
