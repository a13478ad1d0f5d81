"""A stage's `ask` for `benchloom plan`: counts what the stage would ask, without asking."""

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
"""The role of calls to a system under test, which has none."""


@dataclass(frozen=True)
class PlannedCall:
    """One call that a stage would make. prompt_tokens, max_tokens: the most that it can cost, estimated.

    entry: what the ledger has for it; None where it would be asked. attempts: how often it may be asked.
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
        """The role and the prompt: calls of one kind cost about the same."""
        return self.role, self.prompt


@dataclass(frozen=True)
class CallPlan:
    """The calls that a stage would make: new ones, and those with a reply in a ledger."""

    new: tuple[PlannedCall, ...]
    known: tuple[PlannedCall, ...]
    unanswered: int
    """Number of requests without a reply in a ledger. Requests that differ only in earlier replies are equal
    while these are missing, and count as one new call."""
    sure_calls: int
    """New calls that will be asked whatever the answers are."""
    is_exact: bool
    """Whether the number of first attempts is known; answers that do not parse are asked again."""
    batch: bool = False
    """Whether new calls go by the Batch API, at its share of the price."""


class PlanningModel:
    """A stage's `ask` that asks no model: it counts what is recorded and what would be new.

    A missing call is answered with value None, so the stage continues as if it had failed. If a
    question is asked after such an answer, the count depends on unknown answers, and `is_exact` is
    False. A stage that asks until it has enough then asks as often as it ever would, so `new_calls` is
    the upper bound and `sure_calls` the lower bound.
    """

    row_type = Call

    def __init__(self, builder: RequestBuilder, dispatcher: Dispatcher, *, blind: bool = False) -> None:
        """blind: count as if nothing were recorded."""
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
        """Count one question, with its attempts as far as they are recorded."""
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
        """Count texts to embed; one that is not recorded is answered with an empty vector."""
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
        """Return no rows: nothing was asked."""
        return []

    def count(self) -> CallPlan:
        """Return what was counted so far."""
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
        """Count a call; return what the ledger has for it."""
        entry = None if self._blind else self._dispatcher.find_recorded(key)
        if entry is not None and entry.is_unanswered:
            entry = None  # a live run asks it again
        # What systems under test cost is not known.
        tokens = (0, 0) if is_system_call(request) else estimate_worst_case([request])
        call = PlannedCall(key, row, role, prompt, request.model, *tokens, request.attempt, attempts, entry)
        self._unanswered += entry is None
        (self._new if entry is None else self._known)[key] = call
        return entry

    async def _answer_missing(self, key: str, attempt: int) -> Answer[Any]:
        # Questions that are asked concurrently must all begin before the first of them is answered.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if not self._has_missing:
            self._has_missing, self._sure = True, len(self._new)
        return Answer(None, "", key, attempt, "not asked: planning")
