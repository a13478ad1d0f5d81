"""Stage: ask a system every question of a set, and record its answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.models.ask import Ask
from tasks.qa.entries import QaSystem
from tasks.qa.items import QaItem
from tasks.systems.build import build_system
from tasks.systems.contract import System
from tasks.systems.entries import ReplayEntry, SystemEntry


@dataclass(frozen=True)
class QaAnswer:
    """Row of the stage `answers`: a system's answer to an item.

    text: None if there is no answer; `problem` then has the reason.
    """

    id: str
    item: str
    version: str
    text: str | None
    problem: str
    origin: tuple[Origin, ...]


async def answers(items: list[QaItem], entry: QaSystem, system: SystemEntry, ask: Ask) -> Drafts[QaAnswer]:
    """Ask a system every question.

    A failed answer becomes a row without text, with the reason in `problem`.
    """
    built = build_system(entry.system, system, (), ask)
    # Recorded answers are looked up by the question only, so contexts are not added to the question.
    with_contexts = entry.contexts and not isinstance(system, ReplayEntry)
    return Drafts(
        await asyncio.gather(*(_answer(built, item, with_contexts=with_contexts) for item in items))
    )


async def _answer(system: System, item: QaItem, *, with_contexts: bool) -> QaAnswer:
    question = pose(item) if with_contexts else item.question
    response = await system.answer(question, row=item.id, item=item.id)
    # A Parquet file cannot store an unpaired surrogate.
    text = None if response.text is None else response.text.encode("utf-8", "replace").decode()
    return QaAnswer(
        make_id(item.id, system.name, system.version, text),
        item.id,
        system.version,
        text,
        response.problem if text is None else "",
        (
            Origin("row", f"items#{item.id}"),
            *(Origin("call", call) for call in dict.fromkeys(response.calls)),
        ),
    )


def pose(item: QaItem) -> str:
    """Return the prompt for a system: the question, followed by the item's contexts (if there are any)."""
    if not item.contexts:
        return item.question
    return "\n\n".join([item.question, "Contexts:", *item.contexts])
