"""Answers the OpenAI chat protocol on loopback from a ledger, late and faulty on request.

Drills and a user's own tests run against it. Benchloom's client names a call's key in a header;
for any other client the key is found again from the body, by trying samples and attempts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tasks.models.ask import Request
from tasks.models.client import KEY_HEADER
from tasks.models.entries import Entry
from tasks.models.ledger import Ledger

FAULTS = ("429", "500", "503", "drop", "cut", "notjson", "hang")
HANG_S = 3600.0
BIGGEST_BODY = 64 << 20
SAMPLES, ATTEMPTS = 32, 8
"""How far the key of a body without a header is looked for."""
NO_DECODING = frozenset({"model", "messages", "grammar", "response_format", "stream", "n", "user"})


@dataclass
class Counts:
    """What a ledger server has seen; `paid_twice` counts answers given for a key that had its answer."""

    requests: int = 0
    answered: set[str] = field(default_factory=set)
    paid_twice: int = 0
    missing: int = 0
    peak_concurrency: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    def report(self) -> dict[str, Any]:
        """Give the counts as plain data."""
        return {
            "requests": self.requests,
            "distinct": len(self.answered),
            "paid_twice": self.paid_twice,
            "missing": self.missing,
            "peak_concurrency": self.peak_concurrency,
            "faults": dict(sorted(self.faults.items())),
        }


class LedgerServer:
    """The endpoint. A share `faults` of all keys fails when first asked, in a way drawn by seed and key."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        latency_s: float = 0.0,
        faults: float = 0.0,
        seed: int = 0,
        identities: Mapping[str, str] | None = None,
    ) -> None:
        self._ledger, self._latency_s = ledger, latency_s
        self._faults, self._seed = faults, seed
        self._identities = identities or {}
        self._tried: set[str] = set()
        self._now = 0
        self.counts = Counts()

    def application(self) -> web.Application:
        """Build the aiohttp application: chat completions, models, `/stats`, `/reset`."""
        app = web.Application(client_max_size=BIGGEST_BODY)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._chat),
                web.get("/v1/models", self._models),
                web.get("/stats", self._stats),
                web.post("/reset", self._reset),
            ]
        )
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.counts.requests += 1
        self._now += 1
        self.counts.peak_concurrency = max(self.counts.peak_concurrency, self._now)
        try:
            return await self._answer(request)
        finally:
            self._now -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
            entry = self._find(request.headers.get(KEY_HEADER), body)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return refuse(400, f"the body is no chat completion request ({type(error).__name__})")
        await asyncio.sleep(self._latency_s)
        if entry is None:
            self.counts.missing += 1
            return refuse(404, "no ledger holds this call; record it live first")
        if (kind := self._draw_fault(entry.key)) is not None:
            return await misbehave(request, kind)
        self.counts.paid_twice += entry.key in self.counts.answered
        self.counts.answered.add(entry.key)
        return web.json_response(complete(entry, str(body.get("model", ""))))

    def _find(self, key: str | None, body: Mapping[str, Any]) -> Entry | None:
        keys: Iterable[str] = [key] if key else guess_keys(body, self._identities)
        return next((entry for each in keys if (entry := self._ledger.get(each)) is not None), None)

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
        self.counts, self._tried = Counts(), set()
        return web.json_response({})


def guess_keys(body: Mapping[str, Any], identities: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys that a body may have been recorded under, the likeliest first."""
    constraint: dict[str, Any] = {}
    if "grammar" in body:
        constraint = {"grammar": body["grammar"]}
    elif body.get("response_format", {}).get("type") == "json_schema":
        constraint = {"json_schema": body["response_format"]["json_schema"]["schema"]}
    decoding = {name: value for name, value in body.items() if name not in NO_DECODING}
    model = body["model"]
    messages = tuple(body["messages"])
    for attempt in range(ATTEMPTS):
        for sample in range(SAMPLES):
            yield Request(
                model, messages, decoding, constraint, sample, attempt, identity=identities.get(model, "")
            ).key()


def complete(entry: Entry, model: str) -> dict[str, Any]:
    """Write an entry as a chat completion."""
    message = {"role": "assistant", "content": entry.text}
    choice = {"index": 0, "finish_reason": entry.finish_reason, "message": message}
    if "logprobs" in entry.extra:
        choice["logprobs"] = entry.extra["logprobs"]
    reply: dict[str, Any] = {
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
    """Answer with an error as the protocol writes it."""
    return web.json_response({"error": {"message": message, "type": "ledger"}}, status=status)


async def misbehave(request: web.Request, kind: str) -> web.StreamResponse:
    """Fail in one of the ways that real endpoints do."""
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


def serve_ledger(server: LedgerServer, port: int, announce: Any = lambda _: None) -> None:
    """Serve on loopback until interrupted; `announce` gets the base URL once it listens."""
    asyncio.run(_serve(server, port, announce))


async def _serve(server: LedgerServer, port: int, announce: Any) -> None:
    runner = web.AppRunner(server.application(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        announce(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
