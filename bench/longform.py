"""Benchmark longform: synthetic databases and agents' interactions per second, at three sizes.

Databases: `build_scratch` and `write_database` on a scripted reply, against plain sqlite3 that runs the same
scripts in this process. Agents: the stage `interactions` (sequential, one plan and two queries per question)
with the whole model layer and an endpoint on loopback, against the same calls without the stage. The time is
linear if the rates do not fall; memory is constant if its peak does not grow with the questions. The stage's
peak, including the returned rows, is measured in a separate process. `python -m bench longform` runs the full
sizes; `python -m bench.longform 0.1` uses 10% of the largest size.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, cast

from aiohttp import web

import tasks.longform
from tasks.databases.scratch.scratch import build_scratch, write_database
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.labels import CONCLUSIVE
from tasks.longform.solve.interaction import Interaction
from tasks.longform.solve.interactions import interactions
from tasks.longform.solve.replies import AgentLimits
from tasks.models.ask import Ask, Role
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import BudgetLimits, Endpoint

SIZES = (10, 100, 1_000)
MODEL = "bench"
CREATE = (
    "CREATE TABLE stadium (id INTEGER PRIMARY KEY, name TEXT NOT NULL, seats INTEGER) STRICT",
    "CREATE TABLE concert (id INTEGER PRIMARY KEY, stadium INTEGER REFERENCES stadium (id), "
    "year INTEGER) STRICT",
)
PLAN = "Information needed: concerts\nTables and columns: concert.stadium\nRetrieval steps: count them"
QUERIES = (
    "SQL: SELECT stadium, count(*) FROM concert GROUP BY 1;\nSQL: SELECT name FROM stadium ORDER BY seats;"
)
ANSWER = "The first stadium had most concerts."


def main(share: float = 1.0) -> None:
    """Print all measurements. share: fraction of the largest size to use."""
    sizes = (*SIZES[:-1], max(SIZES[-2], int(SIZES[-1] * share)))
    scripts = [measure_databases(size) for size in sizes][-1]
    for size in sizes:
        asyncio.run(measure_agents(scripts[:size]))


def write_reply(number: int) -> str:
    """Return a model's reply: a script for two tables of ten rows each."""
    stadiums = ", ".join(f"({n}, 'Stadium {number}-{n}', {n * 1000})" for n in range(10))
    concerts = ", ".join(f"({n}, {n % 3}, {2000 + n})" for n in range(10))
    return f"```sql\nINSERT INTO stadium VALUES {stadiums};\nINSERT INTO concert VALUES {concerts};\n```"


def measure_databases(size: int) -> list[str]:
    """Measure building databases, and running their scripts with plain sqlite3; return the scripts."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            replies = map(write_reply, range(size))
            scripts = [built.script for built in pool.map(lambda text: build_scratch(CREATE, text), replies)]
        built = time.perf_counter() - begun
        begun = time.perf_counter()
        for number, script in enumerate(scripts):
            write_database(script, Path(folder) / f"{number}.sqlite")
        written = time.perf_counter() - begun
        begun = time.perf_counter()
        for number, script in enumerate(scripts):
            run_plainly(script, Path(folder) / f"plain{number}.sqlite")
        plain = time.perf_counter() - begun
    print(
        f"longform: {size} databases: built in a process each {size / built:.1f} a second, written "
        f"{size / written:.0f}, plain sqlite3 {size / plain:.0f}; ratio of both to plain "
        f"{(built + written) / plain:.1f}, of writing {written / plain:.2f}; peak {read_peak():.0f} MiB",
        flush=True,
    )
    return scripts


def run_plainly(script: str, path: Path) -> None:
    """Write the same database with sqlite3 alone."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        path.write_bytes(connection.serialize())


async def answer(request: web.Request) -> web.Response:
    """Return a valid scripted reply to any of the agent's three prompts."""
    shown = json.dumps((await request.json())["messages"])
    text = ANSWER if "count(*)" in shown else QUERIES if "count them" in shown else PLAN
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 20, "completion_tokens": 10}
    return web.json_response({"choices": [choice], "usage": usage})


async def measure_agents(scripts: Sequence[str]) -> None:
    """Measure an agent that answers a question per database, then the same calls without the stage."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    async with serve() as url:
        with open_model(url) as ask:

            async def keep(*args: Any, **more: Any) -> Any:
                calls.append((args, more))
                return await ask(*args, **more)

            begun = time.perf_counter()
            rows = await run_stage(scripts, cast("Ask", keep))
            staged = time.perf_counter() - begun
        with open_model(url) as ask:
            begun = time.perf_counter()
            await asyncio.gather(*(ask(*args, **more) for args, more in calls))
            bare = time.perf_counter() - begun
    steps = sum(len(row.steps) for row in rows)
    print(
        f"longform: {len(rows)} questions, {steps} steps by {len(calls)} calls: {steps / staged:.1f} "
        f"steps a second; the calls alone {len(calls) / bare:.0f} a second, ratio {staged / bare:.1f}; "
        f"peak of the stage {read_stage_peak(len(rows))}",
        flush=True,
    )


async def run_stage(scripts: Sequence[str], ask: Ask) -> Sequence[Interaction]:
    """Run the stage `interactions` with one question per database; return its rows."""
    items = [make_item(number, script) for number, script in enumerate(scripts)]
    entry = AgentEvaluation(set="bench", agents=("sequential",))
    rows = (await interactions(items, entry, AgentLimits(), ask)).rows
    assert all(len(row.queries) == 2 and row.answer for row in rows), "the script does not fit the agent"
    return rows


def read_stage_peak(size: int) -> str:
    """Run the stage in a separate process; return the line that it prints about its memory."""
    return subprocess.run(
        [sys.executable, "-c", f"from bench.longform import say_stage_peak; say_stage_peak({size})"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def say_stage_peak(size: int) -> None:
    """Print the peak memory of this process before and after the stage."""

    async def run() -> Sequence[Interaction]:
        async with serve() as url:
            with open_model(url) as ask:
                return await run_stage(scripts, cast("Ask", ask))

    built = build_scratch(CREATE, write_reply(0)).script
    scripts = [built.replace("Stadium 0-", f"Stadium {number}-") for number in range(size)]
    before = read_peak()
    rows = asyncio.run(run())
    kept = sum(len(pickle.dumps(row)) for row in rows) / 2**20
    print(f"{read_peak():.0f} MiB ({before:.0f} before it; its rows, packed, {kept:.1f})")


@asynccontextmanager
async def serve() -> AsyncIterator[str]:
    """Serve the scripted model on loopback; yield its URL."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@contextmanager
def open_model(url: str) -> Iterator[RecordedModel]:
    """Yield a stage's `ask` with an empty ledger."""
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(BudgetLimits(), {})
        prompts = Path(tasks.longform.__file__).parent / "prompts"
        role = Role(model=MODEL, temperature=0, top_p=1, max_tokens=200)
        with (
            Ledger(Path(folder, "ledger.sqlite")) as ledger,
            Dispatcher(ledger, ModelClient({MODEL: Endpoint(url=url)}, budget), budget) as dispatcher,
        ):
            yield RecordedModel(RequestBuilder("bench", prompts, {"agent": role}), dispatcher)


def make_item(number: int, script: str) -> LongformItem:
    """Return an item with a question about a database."""
    question = f"Which stadium of {number} had the most concerts, and is it the largest?"
    return LongformItem(f"i{number}", "concerts", question, CONCLUSIVE, "The first.", (), script, "model", ())


def read_peak() -> float:
    """Return this process's peak memory in MiB; getrusage would include the parent's peak."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None, "/proc/self/status names no peak"
    return int(found[1]) / 1024


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
