"""Stage: ask a user's system to predict tables.

The input is the question and, with `proofs`, the texts that support its answer. The output is a table as
text: Markdown, or lines of `a|b`.
"""

from __future__ import annotations

import asyncio

from pydantic import Field

from tasks.artifacts.rows import Drafts, make_id
from tasks.models.ask import Ask
from tasks.settings import Settings
from tasks.systems.build import build_system
from tasks.systems.entries import SystemEntry
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.solve.prediction import Prediction, TableRun, make_prediction
from tasks.tanq.solve.reading import find_distractors, gather_proofs

SYSTEM = "system"
"""The value of `setting` in the rows of a user's system; `model` is the system's name."""


class TanqSystem(Settings):
    """An entry of `tanq.systems`: one of your systems, evaluated on a question set."""

    set: str
    """The question set: a name under `tanq.sets`."""
    system: str
    """The system: a name under `systems`."""


class SystemTables(Settings):
    """The settings in params.yaml under `tanq.system_predictions`: the input of your system."""

    proofs: bool = False
    """Whether the input includes the item's proofs, as in the oracle setting."""
    distractors: int = Field(default=8, ge=0)
    """Number of proofs of other questions to mix with the item's proofs."""
    seed: int = 0
    """The seed for choosing the distractors."""


async def system_predictions(
    items: list[TanqItem], entry: TanqSystem, system: SystemEntry, params: SystemTables, ask: Ask
) -> Drafts[Prediction]:
    """Ask a system every question. Questions without a reply also have a row, with the reason in `failed`."""
    built = build_system(entry.system, system, (), ask)
    run = TableRun(SYSTEM, entry.system)
    responses = await asyncio.gather(
        *(
            built.answer(pose(item, items, params), row=make_id(item.id, run.system), item=item.id)
            for item in items
        )
    )
    return Drafts(
        [
            make_prediction(
                item,
                run,
                (response.text or "").encode("utf-8", "replace").decode(),
                "" if response.text else response.problem or "no answer",
                response.calls,
            )
            for item, response in zip(items, responses, strict=True)
        ]
    )


def pose(item: TanqItem, items: list[TanqItem], params: SystemTables) -> str:
    """Return the input of the system: the question, then any proofs that `params` requests, one per line."""
    if not params.proofs:
        return item.question
    distractors = find_distractors(item, items, params.distractors, params.seed)
    proofs = gather_proofs([*item.proofs, *distractors], params.seed, item.id)
    return "\n".join([item.question, "", "Documents:", *(proof.text for proof in proofs)])
