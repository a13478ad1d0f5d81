"""A stage's `ask` for real runs: find each answer in the ledger, or send the call and record the reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tasks.errors import CallMissing
from tasks.models.ask import Answer, Prompt, Request, Send, Tool
from tasks.models.calls import Call, make_call
from tasks.models.logprobs import read_logprobs
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Unfinished
from tasks.models.request_builder import RequestBuilder, read_system, read_vector
from tasks.models.sending.budget import NOTHING, Amount
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.results import CallResult
from tasks.models.tools import parse_entry

Value = TypeVar("Value")
NO_PROMPT = Prompt("", "", ())
"""The prompt of a call without a prompt file, such as an embedding or a request to a system."""


@dataclass(frozen=True)
class Usage:
    """The number and cost of a stage's calls.

    `paid` covers only the calls that this run sent; the token counts and `usd` cover all calls. `usd`
    includes the discount of the Batch API. Shipped ledgers do not record whether a call used the Batch API,
    so their calls count at the normal price.
    """

    live_calls: int = 0
    ledger_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated_calls: int = 0
    usd: float = 0.0
    paid: Amount = NOTHING


class RecordedModel:
    """A stage's `ask` (`tasks.models.ask.Ask`): returns recorded answers, and sends all other calls."""

    row_type = Call

    def __init__(self, builder: RequestBuilder, dispatcher: Dispatcher) -> None:
        self._builder, self._dispatcher = builder, dispatcher
        self._unfinished: Unfinished | None = None
        self._calls: dict[str, Call] = {}
        self._live: set[str] = set()
        self._by_batch: set[str] = set()
        self._paid = Amount()

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
        """Ask until an answer parses or the role's attempts are used up; return the last answer.

        A call without an answer, or with a finish reason that the role refuses, is not retried. Raises
        CallMissing if a replay needs a call that is not recorded.
        """
        found_role, rendered = self._builder.role(role), self._builder.render(prompt, fields, turns)
        attempt, problem, entry = 0, None, None
        while True:
            request = self._builder.request(
                rendered, found_role, attempt, grammar=grammar, schema=schema, sample=sample,
                max_tokens=max_tokens, top_logprobs=top_logprobs, tools=tools,
            )  # fmt: skip
            request = self._dispatcher.choose(self._builder.stage, self._builder.list_variants(request))
            entry = await self._get(request, row, rendered.name)
            value, problem, is_final = parse_entry(entry, request, found_role, parse)
            self._add_call(make_call(self._builder.stage, row, role, rendered, request, entry, problem))
            attempt += 1
            if is_final:
                logprobs = read_logprobs(entry.extra)
                return Answer(
                    value, entry.text, entry.key, attempt, problem or "", logprobs, entry.is_unanswered
                )

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Return one vector per text; up to `texts_per_call` unrecorded texts are sent in one call."""
        found_role = self._builder.role(role)
        asked = [
            self._dispatcher.choose(
                self._builder.stage, self._builder.list_variants(self._builder.embedding(text, found_role))
            )
            for text in texts
        ]
        requests = {request.key(): request for request in asked}
        entries = await self._get_all(requests, row, role)
        for key, request in requests.items():
            self._add_call(make_call(self._builder.stage, row, role, NO_PROMPT, request, entries[key], None))
        return [read_vector(entries[request.key()].extra) for request in asked]

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
        """Return a system's answer to a request; the request is not repeated if the answer does not parse."""
        asked = self._dispatcher.choose(
            self._builder.stage, [self._builder.system_call(name, version, request)]
        )
        key = asked.key()
        entry = self._dispatcher.find_recorded(key)
        if entry is None and self._dispatcher.replay:
            raise CallMissing(self._builder.stage, row, f"system {name}", key)
        self._note_use([key], asked=entry is None)
        if entry is None:
            entry = self._count_live({key: await self._dispatcher.ask_system(asked, send)})[key]
        value, problem = read_system(entry, parse)
        self._add_call(make_call(self._builder.stage, row, "system", NO_PROMPT, asked, entry, problem))
        return Answer(value, entry.text, key, 1, problem or "")

    def note_unfinished(self, project: str) -> None:
        """Start marking the stage's calls in the live ledger, except in a replay (see `Unfinished`)."""
        if not self._dispatcher.replay:
            self._unfinished = Unfinished(self._dispatcher.ledger, project, self._builder.stage)

    def finish(self) -> None:
        """Delete the marks of the stage's calls, and the stage's list of repeated calls.

        The marks are no longer needed, because the written artifacts list the calls.
        """
        if self._unfinished is not None:
            self._unfinished.forget()
        if self._asks_again and self._dispatcher.again is not None:
            self._dispatcher.again.finish(self._builder.stage)

    @property
    def _asks_again(self) -> bool:
        again = self._dispatcher.again
        return again is not None and again.covers(self._builder.stage)

    def call_rows(self) -> list[Call]:
        """Return the rows of the calls artifact, one per ledger key, sorted by key."""
        return sorted(self._calls.values(), key=lambda call: call.id)

    @property
    def answered(self) -> int:
        """Return the number of finished calls, including recorded calls and calls without an answer."""
        return len(self._calls)

    def usage(self) -> Usage:
        """Return the total number, tokens and cost of the calls, and the amount that this run paid."""
        calls = self._calls.values()
        return Usage(
            live_calls=len(self._live),
            ledger_calls=len(self._calls) - len(self._live),
            prompt_tokens=sum(call.prompt_tokens for call in calls),
            completion_tokens=sum(call.completion_tokens for call in calls),
            estimated_calls=sum(call.estimated for call in calls),
            usd=sum(self._price(call) for call in calls),
            paid=self._paid,
        )

    def _price(self, call: Call) -> float:
        tokens = call.prompt_tokens, call.completion_tokens
        return self._dispatcher.budget.price(call.model, *tokens, batch=call.id in self._by_batch).usd

    async def _get(self, request: Request, row: str, prompt: str) -> LedgerEntry:
        key = request.key()
        return (await self._get_all({key: request}, row, prompt))[key]

    async def _get_all(
        self, requests: Mapping[str, Request], row: str, prompt: str
    ) -> dict[str, LedgerEntry]:
        found = {key: entry for key in requests if (entry := self._dispatcher.find_recorded(key)) is not None}
        missing = [key for key in requests if key not in found]
        if missing and self._dispatcher.replay:
            raise CallMissing(self._builder.stage, row, prompt, missing[0])
        self._note_use(requests, asked=bool(missing))
        size = self._dispatcher.texts_per_call(requests[missing[0]].model) if missing else 1
        chunks = [missing[start : start + size] for start in range(0, len(missing), size)]
        for answered in await asyncio.gather(*(self._send(requests, chunk) for chunk in chunks)):
            found |= answered
        self._by_batch |= {key for key, entry in found.items() if entry.batch}
        return found

    async def _send(self, requests: Mapping[str, Request], keys: Sequence[str]) -> dict[str, LedgerEntry]:
        # A batch uses recorded answers, so a batch cannot replace these answers.
        batch = self._dispatcher.batch.covers(self._builder.stage) and not self._asks_again
        return self._count_live(
            await self._dispatcher.ask_all({key: requests[key] for key in keys}, batch=batch)
        )

    def _note_use(self, keys: Iterable[str], *, asked: bool) -> None:
        if self._unfinished is not None:
            self._unfinished.note(keys, asked=asked)

    def _count_live(self, results: Mapping[str, CallResult]) -> dict[str, LedgerEntry]:
        """Add live calls and their cost to the totals; return the ledger entry of each key."""
        for key, result in results.items():
            if result.live:
                self._live.add(key)
                self._paid += result.cost
        return {key: result.entry for key, result in results.items()}

    def _add_call(self, call: Call) -> None:
        known = self._calls.get(call.id)
        if known is None or (call.row, call.problem) < (known.row, known.problem):
            self._calls[call.id] = call
