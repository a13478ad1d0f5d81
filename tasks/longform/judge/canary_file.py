"""Read peer_canaries.yaml: answers and steps, about invented things, whose right verdict is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from tasks.judging.canaries import KnownCase, read_cases
from tasks.longform.judge.opinions import PEER_VERDICTS
from tasks.longform.judge.reference_verdicts import LABELS, SCORES
from tasks.longform.judge.rows import STEPS
from tasks.longform.rows import CONCLUSIVE, KINDS, LongformItem
from tasks.longform.solve.rows import AgentQuery, Interaction

FILE = Path(__file__).with_name("peer_canaries.yaml")
Cell = int | float | str | None
VERDICTS = {kind: LABELS if kind == CONCLUSIVE else SCORES for kind in KINDS} | dict.fromkeys(
    STEPS, PEER_VERDICTS
)
"""The verdicts that each kind of canary may accept."""


class CanaryQuery(BaseModel):
    """A query of a canary's agent, with its whole result or its error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sql: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    error: str = ""


class PeerCanary(KnownCase):
    """One canary: an answer to hold against a reference, or a step to review."""

    kind: Literal["conclusive", "interpretive", "IP", "TE", "IS"]
    question: str
    reference: str = ""
    """Of the kinds `conclusive` and `interpretive`; steps have the four that follow."""
    script: str = ""
    plan: str = ""
    queries: tuple[CanaryQuery, ...] = ()
    answer: str = "(not reviewed)"

    @model_validator(mode="after")
    def _check_verdicts(self) -> PeerCanary:
        if not set(self.accepted) <= set(VERDICTS[self.kind]):
            raise ValueError(f"accepted holds something else than {', '.join(VERDICTS[self.kind])}")
        return self

    def make_item(self) -> LongformItem:
        """Make the item that it is about. For reviewers, who see no reference, its kind does not matter."""
        kind = self.kind if self.kind in KINDS else CONCLUSIVE
        return LongformItem(self.id, "", self.question, kind, self.reference, (), self.script, "model", ())

    def make_interaction(self) -> Interaction:
        """Make the interaction that is judged."""
        queries = tuple(
            AgentQuery(query.sql, query.columns, json.dumps(query.rows), len(query.rows), query.error)
            for query in self.queries
        )
        return Interaction(
            id=self.id, item=self.id, agent="sequential", model="", plan=self.plan, queries=queries,
            answer=self.answer, steps=(), left_out=(), problem="", origin=(),
        )  # fmt: skip


def read_peer_canaries(path: Path = FILE) -> tuple[PeerCanary, ...]:
    """Read the canaries, sorted by id. Raises BadInput for an unreadable or malformed file."""
    return read_cases(path, PeerCanary)
