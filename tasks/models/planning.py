"""A stage's `ask` for `benchloom plan`: it counts the calls that a stage would make, without making them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tasks.models.ask import Answer, Request, Send, Tool
from tasks.models.calls import Call
from tasks.models.logprobs import read_logprobs
from tasks.models.recording.entries import LedgerEntry
from tasks.models.request_builder import RequestBuilder, is_system_call, read_system, read_vector
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.replies import estimate_worst_case
from tasks.models.tools import parse_entry

Value = TypeVar("Value")
SYSTEM = "system"
"""The role shown for calls to a system under test, because systems have no roles."""


@dataclass(frozen=True)
class PlannedCall:
    """One call that a stage would make.

    `prompt_tokens`, `max_tokens`: the estimated maximum number of tokens in the prompt and in the reply. Both
    are 0 for a call to a system, because its cost is unknown. `entry`: the recorded answer, or None if the
    call would be sent. `attempts`: the question's maximum number of attempts.
    """

    key: str
    row: str
    role: str
    prompt: str
    model: str
    prompt_tokens: int
    max_tokens: int
    attempt: int = 0
    attempts: int = 1
    entry: LedgerEntry | None = None

    @property
    def kind(self) -> tuple[str, str]:
        """Return the role and the prompt; calls with the same role and prompt cost about the same."""
        return self.role, self.prompt


@dataclass(frozen=True)
class CallPlan:
    """The calls that a stage would make: new calls, and calls whose reply is recorded in a ledger."""

    new: tuple[PlannedCall, ...]
    known: tuple[PlannedCall, ...]
    unanswered: int
    """Number of requests without a recorded reply.

    If requests would differ only because of replies that are not recorded, they are identical in a plan.
    `new` has one call for all of them, but `unanswered` counts each request.
    """
    sure_calls: int
    """Minimum number of new calls, regardless of the models' answers."""
    is_exact: bool
    """Whether the number of first attempts is exact. The number of repeated attempts after unparsable answers
    is always unknown."""
    batch: bool = False
    """Whether new calls use the Batch API, which has a lower price."""


class PlanningModel:
    """A stage's `ask` that sends nothing, and counts recorded and new calls.

    A missing call is answered with the value None, so the stage continues as if the call had failed. If the
    stage asks another question afterwards, the count depends on unknown answers, and `is_exact` is False.

    A stage that repeats questions until it has enough answers makes its maximum number of calls here. The
    number of new calls in the plan is therefore an upper bound, and `sure_calls` is a lower bound.
    """

    row_type = Call

    def __init__(self, builder: RequestBuilder, dispatcher: Dispatcher, *, blind: bool = False) -> None:
        """Store the settings; no calls are counted yet.

        `blind`: ignore the ledger, so that every call counts as new.
        """
        self._builder, self._dispatcher, self._blind = builder, dispatcher, blind
        self._known: dict[str, PlannedCall] = {}
        self._new: dict[str, PlannedCall] = {}
        self._has_missing = False
        self._sure = self._unanswered = 0
        self.is_exact = True

    async def __call__(
        self,
        prompt: str | Path,
        fields: Mapping[str, object],
        *,
        role: str,
        row: str,
        parse: Callable[[str], Value],
        grammar: str | None = None,
        schema: Mapping[str, object] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
        turns: Sequence[tuple[str, str]] = (),
        tools: Sequence[Tool] = (),
    ) -> Answer[Value]:
        """Count one question, including its repeated attempts if their replies are recorded."""
        self.is_exact = self.is_exact and not self._has_missing
        found_role, rendered = self._builder.role(role), self._builder.render(prompt, fields, turns)
        attempt = 0
        while True:
            request = self._builder.request(
                rendered, found_role, attempt, grammar=grammar, schema=schema, sample=sample,
                max_tokens=max_tokens, top_logprobs=top_logprobs, tools=tools,
            )  # fmt: skip
            request = self._dispatcher.choose(self._builder.stage, self._builder.list_variants(request))
            key = request.key()
            entry = self._count(key, row, request, role, rendered.name, found_role.attempts)
            attempt += 1
            if entry is None:
                return await self._answer_missing(key, attempt)
            value, problem, is_final = parse_entry(entry, request, found_role, parse)
            if is_final:
                logprobs = read_logprobs(entry.extra)
                return Answer(value, entry.text, key, attempt, problem or "", logprobs)

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Count the texts to embed; a text without a recorded embedding gets an empty vector."""
        self.is_exact = self.is_exact and not self._has_missing
        found_role = self._builder.role(role)
        requests = [
            self._dispatcher.choose(
                self._builder.stage, self._builder.list_variants(self._builder.embedding(text, found_role))
            )
            for text in texts
        ]
        entries = {(key := request.key()): self._count(key, row, request, role) for request in requests}
        if None in entries.values():
            await self._answer_missing("", 0)
        found = [entries[request.key()] for request in requests]
        return [[] if entry is None else read_vector(entry.extra) for entry in found]

    async def system(
        self,
        name: str,
        version: str,
        request: Mapping[str, object],
        *,
        send: Send,
        row: str,
        parse: Callable[[str], Value],
    ) -> Answer[Value]:
        """Count one call to a system under test."""
        self.is_exact = self.is_exact and not self._has_missing
        asked = self._dispatcher.choose(
            self._builder.stage, [self._builder.system_call(name, version, request)]
        )
        key = asked.key()
        if (entry := self._count(key, row, asked, SYSTEM)) is None:
            return await self._answer_missing(key, 1)
        value, problem = read_system(entry, parse)
        return Answer(value, entry.text, key, 1, problem or "")

    def call_rows(self) -> list[Call]:
        """Return no rows, because no model was called."""
        return []

    def count(self) -> CallPlan:
        """Return the calls that were counted so far."""
        return CallPlan(
            tuple(self._new.values()),
            tuple(self._known.values()),
            self._unanswered,
            self._sure if self._has_missing else len(self._new),
            self.is_exact,
            self._dispatcher.batch.covers(self._builder.stage),
        )

    def _count(
        self, key: str, row: str, request: Request, role: str, prompt: str = "", attempts: int = 1
    ) -> LedgerEntry | None:
        """Count a call; return its recorded answer, or None if there is none."""
        entry = None if self._blind else self._dispatcher.find_recorded(key)
        if entry is not None and entry.is_unanswered:
            entry = None  # a live run would repeat the call
        # The cost of a call to a system under test is not known.
        tokens = (0, 0) if is_system_call(request) else estimate_worst_case([request])
        call = PlannedCall(key, row, role, prompt, request.model, *tokens, request.attempt, attempts, entry)
        self._unanswered += entry is None
        (self._new if entry is None else self._known)[key] = call
        return entry

    async def _answer_missing(self, key: str, attempt: int) -> Answer[Any]:
        # All concurrent questions must start, and be counted, before the first question is answered.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if not self._has_missing:
            self._has_missing, self._sure = True, len(self._new)
        return Answer(None, "", key, attempt, "not asked: planning")
