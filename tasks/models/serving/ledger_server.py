"""A loopback server for the OpenAI protocol that answers from a ledger, with optional latency and faults.

Fault tests and users' tests use this server. Benchloom's client sends a call's ledger key in a header. For
any other client, the server recomputes the key from the body, by trying sample and attempt numbers.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from aiohttp import web

from tasks.models.ask import Request
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import INPUT
from tasks.models.sending.client import KEY_HEADER
from tasks.models.serving.batch_server import BatchApi
from tasks.models.serving.local_only import make_runner, refuse_foreign

FAULTS = ("429", "500", "503", "drop", "cut", "notjson", "hang")
"""Kinds of faults of real endpoints: an error status, a dropped connection, a truncated reply, a reply that
is not JSON, or no reply."""
HANG_S = 3600.0
"""Seconds for which a hanging request stays open; clients time out earlier."""
MINUTE_S = 60.0
MAX_BODY_BYTES = 64 << 20
"""Maximum size of a request's body in bytes."""
SAMPLES, ATTEMPTS = 32, 8
"""How many sample numbers and attempt numbers to try for a request without a key header."""
NO_DECODING = frozenset(
    {"model", "messages", "grammar", "response_format", "tools", "tool_choice", "stream", "n", "user"}
)
"""Fields of a request's body that are not decoding parameters."""


@dataclass
class ServerCounts:
    """Request counts of a ledger server; `paid_twice` counts repeated answers for the same key."""

    requests: int = 0
    answered: set[str] = field(default_factory=set)
    paid_twice: int = 0
    missing: int = 0
    peak_concurrency: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    def report(self) -> dict[str, object]:
        """Return the counts as a JSON object."""
        return {
            "requests": self.requests,
            "distinct": len(self.answered),
            "paid_twice": self.paid_twice,
            "missing": self.missing,
            "peak_concurrency": self.peak_concurrency,
            "faults": dict(sorted(self.faults.items())),
        }


class LedgerServer:
    """Serves chat completions, embeddings and batches. `faults`: share of keys whose first request fails.

    The seed and the key determine whether a key fails, and with which fault.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        latency_s: float = 0.0,
        faults: float = 0.0,
        seed: int = 0,
        requests_per_minute: int | None = None,
        batch_s: float = 0.0,
        identities: Mapping[str, str] | None = None,
    ) -> None:
        """Store the settings.

        `requests_per_minute`: the maximum; further requests are refused with status 429. `batch_s`: the
        duration of a batch in seconds.
        """
        self._ledger, self._latency_s = ledger, latency_s
        self._faults, self._seed, self._limit = faults, seed, requests_per_minute
        self._arrivals: deque[float] = deque()
        self._identities = identities or {}
        self._tried: set[str] = set()
        self._now = 0
        self.counts = ServerCounts()
        self.batches = BatchApi(self._answer_line, batch_s)

    def application(self) -> web.Application:
        """Return the aiohttp application with the protocol's paths, `/stats` and `/reset`."""
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[refuse_foreign])
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._post),
                web.post("/v1/embeddings", self._post),
                *self.batches.routes(),
                web.get("/v1/models", self._models),
                web.get("/stats", self._stats),
                web.post("/reset", self._reset),
            ]
        )
        return app

    async def _post(self, request: web.Request) -> web.StreamResponse:
        self.counts.requests += 1
        self._now += 1
        self.counts.peak_concurrency = max(self.counts.peak_concurrency, self._now)
        try:
            return await self._answer(request)
        finally:
            self._now -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        names = request.headers.get(KEY_HEADER, "")
        try:
            body = await request.json()
            entries = self._find(names.split(",") if names else [], body)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return refuse(400, f"the body is not a valid request ({type(error).__name__})")
        if self._is_too_much():
            return await send_fault(request, "429")
        await asyncio.sleep(self._latency_s)
        if not entries:
            self.counts.missing += 1
            return refuse(404, "no ledger contains this call; record it with a live run first")
        if (kind := self._draw_fault(entries[0].key)) is not None:
            return await send_fault(request, kind)
        self._count(entries)
        if entries[0].is_unanswered:
            return refuse(400, entries[0].text)
        return web.json_response(write_reply(entries, body))

    def _answer_line(self, key: str, body: Mapping[str, object]) -> tuple[int, dict[str, object]]:
        """Return the status and body that answer one line of a batch; faults are error statuses."""
        # A client other than Benchloom's chooses custom ids that are not ledger keys.
        entries = self._find([key], body) or self._find([], body)
        if not entries:
            self.counts.missing += 1
            return 404, {
                "error": {"message": "no ledger contains this call; record it with a live run first"}
            }
        if (kind := self._draw_fault(entries[0].key)) is not None:
            return (int(kind) if kind.isdigit() else 500), {"error": {"message": f"fault: {kind}"}}
        self._count(entries)
        if entries[0].is_unanswered:
            return 400, {"error": {"message": entries[0].text}}
        return 200, write_reply(entries, body)

    def _count(self, entries: Iterable[LedgerEntry]) -> None:
        for entry in entries:
            self.counts.paid_twice += entry.key in self.counts.answered
            self.counts.answered.add(entry.key)

    def _is_too_much(self) -> bool:
        if self._limit is None:
            return False
        now = time.monotonic()
        while self._arrivals and self._arrivals[0] <= now - MINUTE_S:
            self._arrivals.popleft()
        if len(self._arrivals) >= self._limit:
            self.counts.faults["limit"] = self.counts.faults.get("limit", 0) + 1
            return True
        self._arrivals.append(now)
        return False

    def _find(self, keys: Sequence[str], body: Mapping[str, object]) -> list[LedgerEntry]:
        """Return the entries that answer a body, one per text for embeddings; [] if an entry is missing."""
        given: list[Iterable[str]] = [[key] for key in keys]
        found = [self._find_one(candidates) for candidates in given or guess_keys(body, self._identities)]
        return [entry for entry in found if entry is not None] if None not in found else []

    def _find_one(self, keys: Iterable[str]) -> LedgerEntry | None:
        return next((entry for key in keys if (entry := self._ledger.get(key)) is not None), None)

    def _draw_fault(self, key: str) -> str | None:
        if key in self._tried:
            return None
        self._tried.add(key)
        dice = random.Random(f"{self._seed}:{key}")  # noqa: S311 - the same faults for the same seed
        if dice.random() >= self._faults:
            return None
        kind = dice.choice(FAULTS)
        self.counts.faults[kind] = self.counts.faults.get(kind, 0) + 1
        return kind

    async def _models(self, _: web.Request) -> web.Response:
        rows = [{"id": name, "object": "model"} for name in sorted(self._identities) or ["ledger"]]
        return web.json_response({"object": "list", "data": rows})

    async def _stats(self, _: web.Request) -> web.Response:
        return web.json_response(self.counts.report())

    async def _reset(self, _: web.Request) -> web.Response:
        self.counts, self._tried = ServerCounts(), set()
        return web.json_response({})


def guess_keys(body: Mapping[str, Any], identities: Mapping[str, str]) -> list[Iterable[str]]:
    """Return the possible ledger keys of a request body, likely keys first.

    The list contains one iterable of keys per text to embed, or a single iterable for a chat completion.
    """
    model = body["model"]
    identity = identities.get(model, "")
    if "input" in body:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        messages = [{"role": INPUT, "content": str(text)} for text in texts]
        return [[Request(model, (message,), identity=identity).key()] for message in messages]
    constraint: dict[str, object] = {}
    if "grammar" in body:
        constraint = {"grammar": body["grammar"]}
    elif body.get("response_format", {}).get("type") == "json_schema":
        constraint = {"json_schema": body["response_format"]["json_schema"]["schema"]}
    elif "tools" in body:
        constraint = {"tools": [tool["function"] for tool in body["tools"]]}
    decoding = {name: value for name, value in body.items() if name not in NO_DECODING}
    likely = Request(model, tuple(body["messages"]), decoding, constraint, identity=identity)
    numbers = product(range(ATTEMPTS), range(SAMPLES))
    return [(replace(likely, attempt=attempt, sample=sample).key() for attempt, sample in numbers)]


def write_reply(entries: Sequence[LedgerEntry], body: Mapping[str, object]) -> dict[str, object]:
    """Return entries as the response to a request body."""
    model = str(body.get("model", ""))
    if "input" not in body:
        return complete(entries[0], model)
    rows = [
        {"object": "embedding", "index": number, "embedding": entry.extra["embedding"]}
        for number, entry in enumerate(entries)
    ]
    total = sum(entry.prompt_tokens for entry in entries)
    usage = {"prompt_tokens": total, "total_tokens": total}
    return {"object": "list", "data": rows, "model": model, "usage": usage}


def complete(entry: LedgerEntry, model: str) -> dict[str, object]:
    """Return an entry as a chat completion."""
    message = {"role": "assistant", "content": entry.text}
    choice = {"index": 0, "finish_reason": entry.finish_reason, "message": message}
    if "logprobs" in entry.extra:
        choice["logprobs"] = entry.extra["logprobs"]
    reply: dict[str, object] = {
        "id": f"ledger-{entry.key[:16]}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
    }
    if not entry.estimated:
        total = entry.prompt_tokens + entry.completion_tokens
        reply["usage"] = {
            "prompt_tokens": entry.prompt_tokens,
            "completion_tokens": entry.completion_tokens,
            "total_tokens": total,
        }
    return reply


def refuse(status: int, message: str) -> web.Response:
    """Return an error response in the protocol's format."""
    return web.json_response({"error": {"message": message, "type": "ledger"}}, status=status)


async def send_fault(request: web.Request, kind: str) -> web.StreamResponse:
    """Simulate a fault of a real endpoint instead of sending a reply; `kind`: one of FAULTS."""
    if kind == "429":
        slow = refuse(429, "too many requests")
        slow.headers["Retry-After"] = "1"
        return slow
    if kind in ("500", "503"):
        return refuse(int(kind), "the server is at fault")
    if kind == "hang":
        await asyncio.sleep(HANG_S)
    if kind in ("drop", "hang"):
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)
    text = (
        '{"id": "ledger-0", "choices": [{"index": 0, "mess'
        if kind == "cut"
        else "<html>502 bad gateway</html>"
    )
    return web.Response(text=text, content_type="application/json")


def serve_ledger(server: LedgerServer, port: int, announce: Callable[[str], None] = lambda _: None) -> None:
    """Serve on loopback until interrupted; `announce` is called with the base URL once the server listens."""
    asyncio.run(_serve(server, port, announce))


async def _serve(server: LedgerServer, port: int, announce: Callable[[str], None]) -> None:
    runner = make_runner(server.application())
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        announce(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
