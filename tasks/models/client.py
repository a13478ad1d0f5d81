"""Sends one request to its endpoint: a bounded queue, retries, a deadline, and nothing else.

It speaks through the official `openai` client over its aiohttp transport and takes raw responses:
building typed ones costs a fifth of the calls per second. Its own retries are off, since they
neither book what a lost reply may have cost nor end at one deadline.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
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
from tasks.models.replies import build_body, estimate_prompt, parse_reply
from tasks.models.settings import Endpoint

KEY_HEADER = "X-Benchloom-Key"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Locate = Callable[[str], Awaitable[str]]
"""Model name -> base URL of its running server, started where it is not."""


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
        self.slots = asyncio.Semaphore(endpoint.in_flight)
        self.secret = read_key(name, endpoint)
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


class Client:
    """All endpoints of a run. Lives in one event loop; see `tasks.models.caller` for threads."""

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

    async def send(self, request: Request, find: Callable[[], Entry | None] = lambda: None) -> Sent:
        """Send a request until a usable reply comes.

        find: asked right before each sending; an entry that it finds is taken instead.
        Raises ModelFailed after the last retry or the deadline, or at once where the endpoint
        refuses the request; BudgetSpent; BadInput where the endpoint is not set up.
        """
        line = self._line(request.model)
        limit, used_s, sendings = line.endpoint, 0.0, 0
        while True:
            async with line.slots:
                # Waiting in the queue is not the endpoint's time: the clock starts behind it.
                started = time.monotonic()
                reservation = await self._budget.reserve(request.model, *worst_case(request))
                if (found := self._find_or_release(find, reservation)) is not None:
                    return Sent(found, live=False)
                sendings += 1
                result = await self._try(
                    line, request, reservation, min(limit.timeout_s, limit.deadline_s - used_s)
                )
                latency_s = time.monotonic() - started
                used_s += latency_s
            if isinstance(result, Sent):
                return _stamp(result, latency_s, sendings)
            wait_s = choose_wait(sendings, result)
            if not result.retry:
                raise ModelFailed(f"{line.name}: the endpoint {line.scrub(result.problem)}")
            if sendings > limit.retries or used_s + wait_s >= limit.deadline_s:
                raise ModelFailed(
                    f"{line.name}: no usable reply after {sendings} tries in {used_s:.0f} s; "
                    f"the endpoint {line.scrub(result.problem)}"
                )
            await asyncio.sleep(wait_s)
            used_s += wait_s

    async def close(self) -> None:
        """Close all connections."""
        for line in self._lines.values():
            await line.close()

    def _line(self, model: str) -> Line:
        if model not in self._lines:
            endpoint = self._endpoints.get(model)
            if endpoint is None:
                known = ", ".join(sorted(self._endpoints)) or "none"
                raise BadInput(f"params.yaml: run.endpoints.{model}", f"is missing (there: {known})")
            self._lines[model] = Line(model, endpoint)
        return self._lines[model]

    def _find_or_release(self, find: Callable[[], Entry | None], reservation: Reservation) -> Entry | None:
        try:
            found = find()
        except BaseException:
            self._budget.release(reservation)
            raise
        if found is not None:
            self._budget.release(reservation)
        return found

    async def _try(
        self, line: Line, request: Request, reservation: Reservation, patience_s: float
    ) -> Sent | Failure:
        try:
            url = await self._find_url(line)
            async with asyncio.timeout(patience_s):
                raw = await self._post(line, url, request)
            reply = parse_reply(raw, request)
        except FAILED_SENDING as error:
            failure = judge(error)
            self._account(reservation, request, line.scrub(failure.problem), paid=failure.paid)
            return failure
        except BaseException as error:
            self._account(reservation, request, f"interrupted ({type(error).__name__})", paid=True)
            raise
        cost = self._budget.settle(reservation, reply.prompt_tokens, reply.completion_tokens)
        entry = Entry(
            request.key(), reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens,
            reply.estimated, reply.extra,
        )  # fmt: skip
        return Sent(entry, live=True, cost=cost)

    async def _find_url(self, line: Line) -> str:
        if line.endpoint.url is not None:
            return line.endpoint.url
        if self._locate is None:
            raise BadInput(f"params.yaml: run.endpoints.{line.name}", "has no url")
        return await self._locate(line.name)

    async def _post(self, line: Line, url: str, request: Request) -> bytes:
        headers = {KEY_HEADER: request.key()} if is_loopback(url) else {}
        response = await line.open(url).post(
            "/chat/completions",
            cast_to=httpx2.Response,
            body=build_body(request, line.endpoint.served_model),
            options={"headers": headers},
        )
        return response.content

    def _account(self, reservation: Reservation, request: Request, problem: str, *, paid: bool) -> None:
        if not paid:
            self._budget.release(reservation)
            return
        self._budget.book_doubt(reservation)
        self._book_doubt(
            Doubt(
                request.key(),
                request.model,
                problem,
                reservation.prompt_tokens,
                reservation.max_tokens,
                time.time(),
            )
        )


def worst_case(request: Request) -> tuple[int, int]:
    """Give the most tokens that a request can cost: of its prompt (estimated) and of its answer."""
    return estimate_prompt(request), int(request.decoding.get("max_tokens", 0))


def is_loopback(url: str) -> bool:
    """Tell whether a URL names this machine."""
    return urlsplit(url).hostname in LOOPBACK


def read_key(name: str, endpoint: Endpoint) -> str:
    """Read an endpoint's key from the environment variable that params.yaml names; "" where it names none."""
    if endpoint.key_env is None:
        return ""
    if not (secret := os.environ.get(endpoint.key_env, "")):
        raise BadInput(
            f"params.yaml: run.endpoints.{name}.key_env",
            f"the environment variable {endpoint.key_env} is not set",
            hint=f"export {endpoint.key_env}=...",
        )
    return secret


def _stamp(sent: Sent, latency_s: float, sendings: int) -> Sent:
    entry = replace(sent.entry, latency_s=round(latency_s, 3), attempts=sendings, at=time.time())
    return Sent(entry, sent.live, sent.cost)
