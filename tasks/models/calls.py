"""The rows of the calls artifact: every model call of a stage, without values that differ between runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.models.ask import CANONICAL, Prompt, Request
from tasks.models.recording.entries import LedgerEntry


@dataclass(frozen=True)
class Call:
    """A model call.

    `id`: the ledger key. `row`: the id of the row that uses the call; the smallest id if several rows use the
    call.
    """

    id: str
    stage: str
    row: str
    role: str
    model: str
    identity: str
    """The checksum of an embedded model's file; empty for any other model."""
    prompt: str
    """The prompt file's stem."""
    prompt_digest: str
    sample: int
    attempt: int
    epoch: str
    messages: str
    """The messages as JSON; `decoding` and `constraint` are also JSON."""
    decoding: str
    constraint: str
    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    parsed: bool
    problem: str
    """Why the text did not parse; empty if it parsed."""
    answered_by: str = ""
    """The name of the model that the reply reports; empty if the reply reports no model.

    This field is also empty for a call that was recorded before this field existed.
    """
    reasoning: str = ""
    """The reasoning before the model's answer, if it was separated from the answer."""

    def to_request(self) -> Request:
        """Return the request that this row describes."""
        return Request(
            self.model,
            tuple(json.loads(self.messages)),
            json.loads(self.decoding),
            json.loads(self.constraint),
            self.sample,
            self.attempt,
            self.epoch,
            self.identity,
        )


def make_call(
    stage: str, row: str, role: str, prompt: Prompt, request: Request, entry: LedgerEntry, problem: str | None
) -> Call:
    """Return the row for a call. `problem`: why the text did not parse; None if it parsed."""
    return Call(
        id=entry.key, stage=stage, row=row, role=role, model=request.model, identity=request.identity,
        prompt=prompt.name, prompt_digest=prompt.digest, sample=request.sample, attempt=request.attempt,
        epoch=request.epoch, messages=_dump([dict(message) for message in request.messages]),
        decoding=_dump(request.decoding), constraint=_dump(request.constraint), text=entry.text,
        finish_reason=entry.finish_reason, prompt_tokens=entry.prompt_tokens,
        completion_tokens=entry.completion_tokens, estimated=entry.estimated,
        parsed=problem is None, problem=problem or "", answered_by=entry.model_named,
        reasoning=entry.reasoning,
    )  # fmt: skip


def _dump(value: Mapping[str, object] | list[dict[str, str]]) -> str:
    plain = dict(value) if isinstance(value, Mapping) else value
    return CANONICAL.encode(plain)
