"""Sends requests to their endpoint: its queue, retries, a deadline, and nothing else.

It speaks through the official `openai` client over its aiohttp transport and takes raw responses:
building typed ones costs a fifth of the calls per second. Its own retries are off, since they
neither book what a lost reply may have cost nor end at one deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from tasks.errors import BadInput, ModelFailed
from tasks.models.ask import Request
from tasks.models.budget import NOTHING, Amount, Budget, Reservation
from tasks.models.entries import Entry
from tasks.models.failures import FAILED_SENDING, Failure, choose_wait, judge
from tasks.models.ledger import Doubt
from tasks.models.rate_limiter import Gate, Ticket
from tasks.models.replies import build_post, estimate_prompt, make_entry, read_replies
from tasks.models.settings import Endpoint, read_secret

KEY_HEADER = "X-Benchloom-Key"
MOST_NAMED = 100
"""Keys that fit into one header line."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Locate = Callable[[str], Awaitable[str]]
"""Model name -> base URL of its running server, started where it is not."""
Keep = Callable[[Iterable[Entry]], Awaitable[None]]
"""Records entries; they are on disk when it returns."""


@dataclass(frozen=True)
class Sent:
    """What became of a request: an entry, newly made (`live`, at a cost) or found at the last moment."""

    entry: Entry
    live: bool
    cost: Amount = NOTHING


class Line:
    """One endpoint with its queue."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self.name, self.endpoint = name, endpoint
        self.gate = Gate(name, endpoint)
        self.secret = read_secret(f"params.yaml: run.endpoints.{name}", endpoint.key_env)
        self._clients: dict[str, AsyncOpenAI] = {}

    def open(self, url: str) -> AsyncOpenAI:
        """Give the client for a base URL; an embedded model's may change when its server is started anew."""
        if url not in self._clients:
            patience = self.endpoint.timeout_s + 5
            local = is_loopback(url)
            # A proxy of the environment is for the world outside, not for this machine's own ports.
            http = DefaultAioHttpClient(timeout=patience, trust_env=not local)
            self._clients[url] = AsyncOpenAI(
                api_key=self.secret or "none", base_url=url, max_retries=0, timeout=patience, http_client=http
            )
        return self._clients[url]

    def scrub(self, text: str) -> str:
        """Take the key out of a text that an endpoint may have echoed it in."""
        return text.replace(self.secret, "***") if self.secret else text

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


@dataclass
class Errand:
    """One call of `Client.send`: what is to be sent, and what it has taken so far."""

    line: Line
    parcel: Mapping[str, Request]
    admit: Callable[[str], bool]
    keep: Keep | None
    sendings: int = 0
    used_s: float = 0.0
    """The endpoint's time and the waits between sendings."""


class Client:
    """All endpoints of a run. Lives in one event loop; see `tasks.models.dispatcher` for threads."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        budget: Budget,
        *,
        locate: Locate | None = None,
        book_doubt: Callable[[Doubt], None] = lambda _: None,
    ) -> None:
        self._endpoints, self._budget = endpoints, budget
        self._locate, self._book_doubt = locate, book_doubt
        self._lines: dict[str, Line] = {}

    async def send(
        self,
        parcel: Mapping[str, Request],
        admit: Callable[[str], bool] = lambda _: True,
        keep: Keep | None = None,
    ) -> dict[str, Sent]:
        """Send requests of one model until a usable reply comes: one question, or texts to embed.

        parcel: by key. admit: asked for each key right before each sending; what it refuses is left
        out, and of the answers too. keep: records the answers; until it has, the call is in flight.
        Raises ModelFailed after the last retry or the deadline, or at once where the endpoint
        refuses the request; BudgetSpent; BadInput where it is not set up.
        """
        line = self.line(next(iter(parcel.values())).model)
        errand, limit = Errand(line, parcel, admit, keep), line.endpoint
        while True:
            result = await self._try(errand)
            if not isinstance(result, Failure):
                return result
            if not result.retry:
                raise ModelFailed(f"{line.name}: the endpoint {line.scrub(result.problem)}")
            wait_s = choose_wait(errand.sendings, result)
            if errand.sendings > limit.retries or errand.used_s + wait_s >= limit.deadline_s:
                raise ModelFailed(
                    f"{line.name}: no usable reply after {errand.sendings} tries in {errand.used_s:.0f} s; "
                    f"the endpoint {line.scrub(result.problem)}"
                )
            await asyncio.sleep(wait_s)
            errand.used_s += wait_s

    async def close(self) -> None:
        """Close all connections."""
        for line in self._lines.values():
            await line.close()

    def list_troubles(self) -> list[str]:
        """Say which endpoints give nothing but failures."""
        return [each for line in list(self._lines.values()) if (each := line.gate.trouble)]

    def line(self, model: str) -> Line:
        """Give a model's endpoint. Raises BadInput where none is set up."""
        if model not in self._lines:
            endpoint = self._endpoints.get(model)
            if endpoint is None:
                known = ", ".join(sorted(self._endpoints)) or "none"
                raise BadInput(f"params.yaml: run.endpoints.{model}", f"is missing (there: {known})")
            self._lines[model] = Line(model, endpoint)
        return self._lines[model]

    async def _try(self, errand: Errand) -> dict[str, Sent] | Failure:
        """Send once, in turn."""
        line, most = errand.line, worst_case(errand.parcel.values())
        ticket = await line.gate.enter(sum(most))
        reservation = None
        try:
            reservation = await self._budget.reserve(line.name, *most)
            url = await self.find_url(line)
            chosen = {key: request for key, request in errand.parcel.items() if errand.admit(key)}
        except BaseException:
            self._leave_unsent(line, ticket, reservation)
            raise
        if not chosen:
            self._leave_unsent(line, ticket, reservation)
            return {}
        # The queue is not the endpoint's time: the clock starts behind it.
        started = time.monotonic()
        errand.sendings += 1
        try:
            return await self._exchange(errand, url, chosen, ticket, reservation)
        finally:
            errand.used_s += time.monotonic() - started

    async def _exchange(
        self,
        errand: Errand,
        url: str,
        chosen: Mapping[str, Request],
        ticket: Ticket,
        reservation: Reservation,
    ) -> dict[str, Sent] | Failure:
        line, started = errand.line, time.monotonic()
        patience_s = min(line.endpoint.timeout_s, line.endpoint.deadline_s - errand.used_s)
        try:
            async with asyncio.timeout(patience_s):
                raw = await self._post(line, url, chosen)
            replies = read_replies(raw, list(chosen.values()))
        except FAILED_SENDING as error:
            failure = judge(error)
            self._account(reservation, chosen, line.scrub(failure.problem), paid=failure.paid)
            line.gate.leave_failed(ticket, failure, failure.wait_s or 0.0)
            return failure
        except BaseException as error:
            self._account(reservation, chosen, f"interrupted ({type(error).__name__})", paid=True)
            line.gate.leave_unsent(ticket)
            raise
        prompt = sum(reply.prompt_tokens for reply in replies)
        completion = sum(reply.completion_tokens for reply in replies)
        self._budget.settle(reservation, prompt, completion)
        latency_s = round(time.monotonic() - started, 3)
        entries = [
            replace(
                make_entry(key, reply),
                latency_s=latency_s,
                attempts=errand.sendings,
                at=time.time(),
                model=line.name,
            )
            for key, reply in zip(chosen, replies, strict=True)
        ]
        try:
            # Its place is given away once it is on disk: a kill then loses no more than was in flight.
            if errand.keep is not None:
                await errand.keep(entries)
        finally:
            line.gate.leave_answered(ticket, prompt + completion)
        return {entry.key: Sent(entry, live=True, cost=self._price(line, entry)) for entry in entries}

    def _leave_unsent(self, line: Line, ticket: Ticket, reservation: Reservation | None) -> None:
        line.gate.leave_unsent(ticket)
        if reservation is not None:
            self._budget.release(reservation)

    def _price(self, line: Line, entry: Entry) -> Amount:
        return self._budget.price(line.name, entry.prompt_tokens, entry.completion_tokens)

    async def find_url(self, line: Line) -> str:
        """Find an endpoint's base URL; an embedded model's server is started for it."""
        if line.endpoint.url is not None:
            return line.endpoint.url
        if self._locate is None:
            raise BadInput(f"params.yaml: run.endpoints.{line.name}", "has no url")
        return await self._locate(line.name)

    async def _post(self, line: Line, url: str, chosen: Mapping[str, Request]) -> bytes:
        named = is_loopback(url) and len(chosen) <= MOST_NAMED
        headers = {KEY_HEADER: ",".join(chosen)} if named else {}
        path, body = build_post(list(chosen.values()), line.endpoint.served_model)
        response = await line.open(url).post(
            path, cast_to=httpx2.Response, body=body, options={"headers": headers}
        )
        return response.content

    def _account(
        self, reservation: Reservation, chosen: Mapping[str, Request], problem: str, *, paid: bool
    ) -> None:
        if not paid:
            self._budget.release(reservation)
            return
        self._budget.book_doubt(reservation)
        for key, request in chosen.items():
            prompt, most = worst_case([request])
            self._book_doubt(Doubt(key, request.model, problem, prompt, most, time.time()))


def worst_case(requests: Iterable[Request]) -> tuple[int, int]:
    """Give the most tokens that requests can cost: of their prompts (estimated) and of their answers."""
    each = [(estimate_prompt(request), int(request.decoding.get("max_tokens", 0))) for request in requests]
    return sum(prompt for prompt, _ in each), sum(most for _, most in each)


def is_loopback(url: str) -> bool:
    """Tell whether a URL names this machine."""
    return urlsplit(url).hostname in LOOPBACK
