"""Read peer_canaries.yaml: answers and steps, about invented things, whose right verdict is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from tasks.errors import BadInput
from tasks.longform.judge.opinions import PEER_VERDICTS
from tasks.longform.judge.reference_verdicts import LABELS, SCORES
from tasks.longform.rows import CONCLUSIVE, KINDS, STEPS, AgentQuery, Interaction, LongformItem

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


class PeerCanary(BaseModel):
    """One canary: an answer to hold against a reference, or a step to review."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    kind: Literal["conclusive", "interpretive", "IP", "TE", "IS"]
    question: str
    reference: str = ""
    """Of the kinds `conclusive` and `interpretive`; steps have the four that follow."""
    script: str = ""
    plan: str = ""
    queries: tuple[CanaryQuery, ...] = ()
    answer: str = "(not reviewed)"
    accepted: tuple[str, ...] = Field(min_length=1)
    """The right verdict; of scores, neighbouring ones where both can be defended."""

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
    try:
        records = yaml.safe_load(path.read_text(encoding="utf-8"))
        canaries = TypeAdapter(list[PeerCanary]).validate_python(records)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(path, f"cannot be read as a list of canaries: {reason}") from error
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BadInput(path, f"a canary's {where or 'fields'}: {error.errors()[0]['msg']}") from error
    ids = [canary.id for canary in canaries]
    if repeated := sorted({canary_id for canary_id in ids if ids.count(canary_id) > 1}):
        raise BadInput(path, f"has two canaries {repeated[0]!r}")
    return tuple(sorted(canaries, key=lambda canary: canary.id))
