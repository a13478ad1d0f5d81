"""Measure calls per second of the model layer, relative to the bare `openai` client and bare aiohttp.

64 calls are in flight, and the endpoint on loopback takes 50 ms. The model layer renders the prompt, computes
the ledger key, looks it up, reserves the cost, queues, sends, reads, commits and parses. Targets: at least
0.9 of the bare `openai` client over aiohttp, and at least 20,000 recorded calls per second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
from openai import AsyncOpenAI, DefaultAioHttpClient

from tasks.models.ask import Role
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import BudgetLimits, Endpoint, Price

IN_FLIGHT, LATENCY_S, ROUNDS = 64, 0.05, 3
MODEL = "bench"
SELECT = "SELECT * FROM calls WHERE key = ?"
PROMPT = "# system\nAnswer with a number.\n# user\nHow many of {{ number }} are there in round {{ turn }}?\n"
SERVER = f"""
import asyncio
from aiohttp import web
REPLY = (b'{{"id": "1", "object": "chat.completion", "created": 0, "model": "bench", "choices": [{{'
         b'"index": 0, "finish_reason": "stop", "message": {{"role": "assistant", "content": "42"}}}}], '
         b'"usage": {{"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21}}}}')
async def answer(request):
    await request.read()
    await asyncio.sleep({LATENCY_S})
    return web.Response(body=REPLY, content_type="application/json")
async def main():
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def main() -> None:
    """Print call rates and their ratios; `python -m bench.models --calls 2000` is the full size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args(sys.argv[1:] if __name__ == "__main__" else []).calls
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        compare(url, calls)
    finally:
        server.kill()
        server.wait()
    read_warm(calls)


def compare(url: str, calls: int) -> None:
    """Run the three clients alternately in several rounds, and print the medians."""
    rates: dict[str, list[float]] = {"bare aiohttp": [], "bare openai": [], "whole layer": []}
    for turn in range(ROUNDS):
        rates["bare aiohttp"].append(run_aiohttp(url, calls, turn))
        rates["bare openai"].append(run_openai(url, calls, turn))
        rates["whole layer"].append(run_layer(url, calls, turn))
    middle = {name: statistics.median(measured) for name, measured in rates.items()}
    shown = ", ".join(f"{name} {rate:.0f}" for name, rate in middle.items())
    print(
        f"models: {calls} calls, {IN_FLIGHT} in flight at {LATENCY_S * 1000:.0f} ms, "
        f"calls per second: {shown}; "
        f"layer / openai {middle['whole layer'] / middle['bare openai']:.2f} (bound 0.9), "
        f"layer / aiohttp {middle['whole layer'] / middle['bare aiohttp']:.2f}"
    )


def make_body(number: int, turn: int) -> dict[str, object]:
    """Return the request body that the model layer would send."""
    messages = [
        {"role": "system", "content": "Answer with a number."},
        {"role": "user", "content": f"How many of {number} are there in round {turn}?"},
    ]
    return {"model": MODEL, "messages": messages, "temperature": 0, "top_p": 1, "max_tokens": 8, "seed": 0}


async def time_calls(ask: Callable[[int], Awaitable[object]], calls: int) -> float:
    """Make calls with the maximum number in flight; return calls per second."""
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def one(number: int) -> None:
        async with slots:
            await ask(number)

    begun = time.perf_counter()
    await asyncio.gather(*map(one, range(calls)))
    return calls / (time.perf_counter() - begun)


def run_aiohttp(url: str, calls: int, turn: int) -> float:
    """Return calls per second of aiohttp alone, with replies parsed as JSON."""

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def ask(number: int) -> object:
                async with session.post(f"{url}/chat/completions", json=make_body(number, turn)) as reply:
                    return await reply.json()

            return await time_calls(ask, calls)

    return asyncio.run(run())


def run_openai(url: str, calls: int, turn: int) -> float:
    """Return calls per second of the `openai` client with its aiohttp transport, used as documented."""

    async def run() -> float:
        http = DefaultAioHttpClient(trust_env=False)
        async with AsyncOpenAI(api_key="none", base_url=url, http_client=http) as client:

            async def ask(number: int) -> object:
                body: Any = make_body(number, turn)
                return await client.chat.completions.create(**body)

            return await time_calls(ask, calls)

    return asyncio.run(run())


def run_layer(url: str, calls: int, turn: int) -> float:
    """Return calls per second of the whole layer, from a stage's `ask` to the committed, parsed answer."""
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(
            BudgetLimits(usd=1e6), {MODEL: Price(input_usd_per_million=1, output_usd_per_million=1)}
        )
        endpoint = Endpoint(url=url, in_flight=IN_FLIGHT)
        with (
            Ledger(Path(folder, "l.sqlite")) as ledger,
            Dispatcher(ledger, ModelClient({MODEL: endpoint}, budget), budget) as dispatcher,
        ):
            ask = make_ask(Path(folder), dispatcher)

            async def run() -> float:
                begun = time.perf_counter()
                await asyncio.gather(*(ask_one(ask, number, turn) for number in range(calls)))
                return calls / (time.perf_counter() - begun)

            return asyncio.run(run())


def make_ask(folder: Path, dispatcher: Dispatcher) -> RecordedModel:
    """Return a stage's `ask`."""
    (folder / "count.md").write_text(PROMPT)
    role = Role(model=MODEL, temperature=0, top_p=1, max_tokens=8)
    return RecordedModel(RequestBuilder("bench", folder, {"counter": role}), dispatcher)


async def ask_one(ask: RecordedModel, number: int, turn: int) -> int | None:
    """Make one call; return the parsed answer."""
    fields = {"number": number, "turn": turn}
    return (await ask("count", fields, role="counter", row=str(number), parse=int)).value


def time_reads(keys: Sequence[str], read: Callable[[str], object]) -> float:
    """Look up all keys; return lookups per second."""
    begun = time.perf_counter()
    for key in keys:
        assert read(key) is not None
    return len(keys) / (time.perf_counter() - begun)


def read_warm(calls: int) -> None:
    """Measure a ledger that contains all calls: lookups alone, and a stage's whole `ask`."""
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder, "l.sqlite")) as ledger:
        builder = make_ask(Path(folder), Dispatcher(ledger, None))._builder
        role = builder.role("counter")
        keys = [
            builder.request(builder.render("count", {"number": number, "turn": 0}), role, 0).key()
            for number in range(calls)
        ]
        ledger.put_many(LedgerEntry(key, "42", "stop", 20, 1) for key in keys)
        rounds, bare = [], []
        with contextlib.closing(sqlite3.connect(ledger.address)) as connection:
            for _ in range(ROUNDS):
                rounds.append(time_reads(keys, ledger.get))
                bare.append(time_reads(keys, lambda key: connection.execute(SELECT, (key,)).fetchone()))
        ask = make_ask(Path(folder), Dispatcher(ledger, None))

        async def run() -> float:
            begun = time.perf_counter()
            await asyncio.gather(*(ask_one(ask, number, 0) for number in range(calls)))
            return calls / (time.perf_counter() - begun)

        whole = [asyncio.run(run()) for _ in range(ROUNDS)]
    print(
        f"models: warm ledger, {calls} calls: {statistics.median(rounds):,.0f} look-ups per second "
        f"(bound 20,000; bare sqlite3 {statistics.median(bare):,.0f}), "
        f"a stage's whole ask {statistics.median(whole):,.0f} per second"
    )


if __name__ == "__main__":
    main()
