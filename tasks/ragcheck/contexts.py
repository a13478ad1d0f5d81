"""Stage: the contexts that a judge is shown, by each system's own retrieval, called twice (section 2.1).

With the question alone (E2) they are those that the answer was made from, and may lack the truth; with the
question and the reference answer joined (E3, the paper's method) they are those that speak of the truth.
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
    """Retrieve by both rules. A system that cannot retrieve without answering has dropped rows."""
    return await retrieve_all(
        build_systems(entry.systems, systems, read_rows(corpus, Document), ask), questions
    )


async def retrieve_all(systems: Sequence[System], questions: Sequence[ReferenceQuestion]) -> Drafts[Context]:
    """Retrieve by systems that are already made."""
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
    """Retrieve for a question by a rule; None where the system cannot."""
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
