"""What a stage would ask, counted without asking: an `ask` for `benchloom plan`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tasks.models.ask import Answer, Request, Send
from tasks.models.calls import Call
from tasks.models.client import worst_case
from tasks.models.dispatcher import Caller
from tasks.models.embeddings import read_vector
from tasks.models.logprobs import read_logprobs
from tasks.models.request_builder import Desk, try_parse
from tasks.models.system_calls import is_system_call, read_system

Value = TypeVar("Value")


@dataclass(frozen=True)
class Plan:
    """What a stage would ask. Prompt tokens are estimates; completions lie between 0 and their limit."""

    new_calls: int
    ledger_calls: int
    prompt_tokens: int
    max_completion_tokens: int
    min_usd: float
    max_usd: float
    sure_calls: int
    """New calls that are asked whatever the answers are."""
    is_exact: bool
    """Whether the number of first attempts is known; an answer that does not parse is asked again."""


class PlanAsk:
    """A stage's `ask` that asks nobody: it counts what is recorded and what would be new.

    A missing call is answered with value None, so the stage goes on as if it had failed. Where an
    ask begins after such an answer was handed out, what is counted depends on answers that nobody
    knows yet: `is_exact` then is False. A stage that asks until it has enough then asks as often as it
    ever would, so `new_calls` is its most, and `sure_calls` its least.
    """

    row_type = Call

    def __init__(self, desk: Desk, caller: Caller) -> None:
        self._desk, self._caller = desk, caller
        self._known: set[str] = set()
        self._new: dict[str, Request] = {}
        self._handed_out = False
        self._sure = 0
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
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
        turns: Sequence[tuple[str, str]] = (),
    ) -> Answer[Value]:
        """Count one question; attempts are followed as far as they are recorded."""
        self.is_exact = self.is_exact and not self._handed_out
        part, rendered = self._desk.role(role), self._desk.render(prompt, fields, turns)
        attempt = 0
        while True:
            request = self._desk.request(
                rendered, part, attempt, grammar=grammar, schema=schema, sample=sample, max_tokens=max_tokens,
                top_logprobs=top_logprobs,
            )  # fmt: skip
            key = request.key()
            attempt += 1
            if (entry := self._caller.recall(key)) is None:
                self._new[key] = request
                return await self._hand_out(key, attempt)
            self._known.add(key)
            value, problem = try_parse(parse, entry.text)
            if problem is None or attempt == part.attempts:
                logprobs = read_logprobs(entry.extra)
                return Answer(value, entry.text, key, attempt, problem or "", logprobs)

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Count texts to embed; one that is not recorded is answered by an empty vector."""
        self.is_exact = self.is_exact and not self._handed_out
        part = self._desk.role(role)
        requests = [self._desk.embedding(text, part) for text in texts]
        entries = {(key := request.key()): self._caller.recall(key) for request in requests}
        for request in requests:
            if entries[key := request.key()] is None:
                self._new[key] = request
            else:
                self._known.add(key)
        if None in entries.values():
            await self._hand_out("", 0)
        found = [entries[request.key()] for request in requests]
        return [[] if entry is None else read_vector(entry.extra) for entry in found]

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
        """Count one call to a system under test."""
        self.is_exact = self.is_exact and not self._handed_out
        asked = self._desk.system_call(name, version, request)
        key = asked.key()
        if (entry := self._caller.recall(key)) is None:
            self._new[key] = asked
            return await self._hand_out(key, 1)
        self._known.add(key)
        value, problem = read_system(entry, parse)
        return Answer(value, entry.text, key, 1, problem or "")

    def call_rows(self) -> list[Call]:
        """Give no rows: nothing was asked."""
        return []

    def count(self) -> Plan:
        """Sum up what was seen so far."""
        prompts, most, usd, most_usd = 0, 0, 0.0, 0.0
        for request in self._new.values():
            if is_system_call(request):  # its cost is not ours to know
                continue
            tokens, limit = worst_case([request])
            prompts, most = prompts + tokens, most + limit
            usd += self._caller.budget.price(request.model, tokens, 0).usd
            most_usd += self._caller.budget.price(request.model, tokens, limit).usd
        sure = self._sure if self._handed_out else len(self._new)
        return Plan(len(self._new), len(self._known), prompts, most, usd, most_usd, sure, self.is_exact)

    async def _hand_out(self, key: str, attempt: int) -> Answer[Any]:
        # Questions that were put at the same time all begin before the first of them is answered.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if not self._handed_out:
            self._handed_out, self._sure = True, len(self._new)
        return Answer(None, "", key, attempt, "not asked: planning")
