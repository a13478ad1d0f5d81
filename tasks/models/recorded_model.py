"""What stands behind a stage's `ask`: the ledger, then the endpoint, then the parser; every call is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tasks.errors import CallMissing
from tasks.models.ask import Answer, Prompt, Request, Send
from tasks.models.budget import NOTHING, Amount
from tasks.models.calls import Call, make_call
from tasks.models.client import Sent
from tasks.models.dispatcher import Caller
from tasks.models.embeddings import read_vector
from tasks.models.entries import Entry
from tasks.models.logprobs import read_logprobs
from tasks.models.request_builder import Desk, try_parse
from tasks.models.system_calls import read_system
from tasks.models.unfinished import Unfinished

Value = TypeVar("Value")
BARE = Prompt("", "", ())
"""What stands in a call's row for its prompt where there is none: a text to embed, a system's request."""


@dataclass(frozen=True)
class Usage:
    """What a stage's calls were and cost. Tokens and dollars are the artifact's in all; `paid` this run's.

    usd: a call that came by the Batch API at its share of the price. That is known of the live ledger's
    calls; a shipped one counts at list price.
    """

    live_calls: int = 0
    ledger_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated_calls: int = 0
    usd: float = 0.0
    paid: Amount = NOTHING


class StageAsk:
    """A stage's `ask` (see `tasks.models.ask.Ask`) that answers from the ledger, else live."""

    row_type = Call

    def __init__(self, desk: Desk, caller: Caller) -> None:
        self._desk, self._caller = desk, caller
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
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
        turns: Sequence[tuple[str, str]] = (),
    ) -> Answer[Value]:
        """Ask until an answer parses or the role's attempts are spent."""
        part, rendered = self._desk.role(role), self._desk.render(prompt, fields, turns)
        attempt, problem, entry = 0, None, None
        while True:
            request = self._desk.request(
                rendered, part, attempt, grammar=grammar, schema=schema, sample=sample, max_tokens=max_tokens,
                top_logprobs=top_logprobs,
            )  # fmt: skip
            entry = await self._get(request, row, rendered.name)
            value, problem = try_parse(parse, entry.text)
            self._keep(make_call(self._desk.stage, row, role, rendered, request, entry, problem))
            attempt += 1
            if problem is None or attempt == part.attempts:
                return Answer(
                    value, entry.text, entry.key, attempt, problem or "", read_logprobs(entry.extra)
                )

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Embed texts, what is not recorded in calls of many."""
        part = self._desk.role(role)
        asked = [self._desk.embedding(text, part) for text in texts]
        requests = {request.key(): request for request in asked}
        entries = await self._get_all(requests, row, role)
        for key, request in requests.items():
            self._keep(make_call(self._desk.stage, row, role, BARE, request, entries[key], None))
        return [read_vector(entries[request.key()].extra) for request in asked]

    async def system(
        self,
        name: str,
        version: str,
        request: Mapping[str, Any],
        *,
        send: Send,
        row: str,
        parse: Callable[[str], Value],
    ) -> Answer[Value]:
        """Put a request to a system under test, once."""
        asked = self._desk.system_call(name, version, request)
        key = asked.key()
        entry = self._caller.recall(key)
        if entry is None and self._caller.replay:
            raise CallMissing(self._desk.stage, row, f"system {name}", key)
        self._note_use([key], asked=entry is None)
        if entry is None:
            entry = self._note({key: await self._caller.ask_system(asked, send)})[key]
        value, problem = read_system(entry, parse)
        self._keep(make_call(self._desk.stage, row, "system", BARE, asked, entry, problem))
        return Answer(value, entry.text, key, 1, problem or "")

    def note_unfinished(self, project: str) -> None:
        """Note in the live ledger whose calls these are, from now until `finish`; of a replay nothing."""
        if not self._caller.replay:
            self._unfinished = Unfinished(self._caller.ledger, project, self._desk.stage)

    def finish(self) -> None:
        """Say that the stage's artifacts, which name its calls, are recorded."""
        if self._unfinished is not None:
            self._unfinished.forget()

    def call_rows(self) -> list[Call]:
        """Give the calls artifact's rows, one a key."""
        return sorted(self._calls.values(), key=lambda call: call.id)

    def usage(self) -> Usage:
        """Sum the calls up: in all, and what this run has paid."""
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
        return self._caller.budget.price(call.model, *tokens, batch=call.id in self._by_batch).usd

    async def _get(self, request: Request, row: str, prompt: str) -> Entry:
        key = request.key()
        return (await self._get_all({key: request}, row, prompt))[key]

    async def _get_all(self, requests: Mapping[str, Request], row: str, prompt: str) -> dict[str, Entry]:
        found = {key: entry for key in requests if (entry := self._caller.recall(key)) is not None}
        missing = [key for key in requests if key not in found]
        if missing and self._caller.replay:
            raise CallMissing(self._desk.stage, row, prompt, missing[0])
        self._note_use(requests, asked=bool(missing))
        size = self._caller.texts_per_call(requests[missing[0]].model) if missing else 1
        parcels = [missing[start : start + size] for start in range(0, len(missing), size)]
        for sent in await asyncio.gather(*(self._send(requests, parcel) for parcel in parcels)):
            found |= sent
        self._by_batch |= {key for key, entry in found.items() if entry.batch}
        return found

    async def _send(self, requests: Mapping[str, Request], keys: Sequence[str]) -> dict[str, Entry]:
        batch = self._caller.batch.covers(self._desk.stage)
        return self._note(await self._caller.ask_all({key: requests[key] for key in keys}, batch=batch))

    def _note_use(self, keys: Iterable[str], *, asked: bool) -> None:
        if self._unfinished is not None:
            self._unfinished.note(keys, asked=asked)

    def _note(self, answers: Mapping[str, Sent]) -> dict[str, Entry]:
        """Note what was live, and what it cost."""
        for key, sent in answers.items():
            if sent.live:
                self._live.add(key)
                self._paid += sent.cost
        return {key: sent.entry for key, sent in answers.items()}

    def _keep(self, call: Call) -> None:
        known = self._calls.get(call.id)
        if known is None or (call.row, call.problem) < (known.row, known.problem):
            self._calls[call.id] = call
