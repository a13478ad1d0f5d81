"""Helpers for tests of the model layer: recorded calls, and a real endpoint on loopback."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from tasks.models.ask import Request
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tasks.models.serving.ledger_server import LedgerServer
from tasks.models.settings import Endpoint

MODEL = "tester"


def make_request(number: int = 0, **more: object) -> Request:
    decoding = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 16, "seed": 0}
    return Request(MODEL, ({"role": "user", "content": f"question {number}"},), decoding, **more)


def make_entry(request: Request, text: str = "an answer", **more: object) -> LedgerEntry:
    return LedgerEntry(request.key(), text, "stop", 7, 3, **more)


def make_endpoint(url: str, **more: object) -> Endpoint:
    settings = {"timeout_s": 5.0, "deadline_s": 30.0, "retries": 3, "in_flight": 8}
    return Endpoint(url=url, **{**settings, **more})


def record(path: Path, requests: list[Request]) -> Ledger:
    """Return a ledger with a distinct answer to every request."""
    ledger = Ledger(path)
    ledger.put_many(
        make_entry(request, f"answer to {request.messages[0]['content']}") for request in requests
    )
    return ledger


@contextlib.contextmanager
def serving(app: web.Application) -> Iterator[str]:
    """Serve an application from a thread; yield the base URL."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def start() -> str:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    async def stop() -> None:
        await runner.cleanup()
        hanging = asyncio.all_tasks() - {asyncio.current_task()}
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)

    try:
        yield asyncio.run_coroutine_threadsafe(start(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def answering(handler, **routes: object) -> Iterator[str]:
    """Serve chat completions with a given handler."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    with serving(app) as url:
        yield url


def say(text: str, **usage: int) -> web.Response:
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return web.json_response({**body, "usage": usage} if usage else body)


__all__ = [
    "LedgerServer",
    "answering",
    "make_endpoint",
    "make_entry",
    "make_request",
    "record",
    "say",
    "serving",
]
