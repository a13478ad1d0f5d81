"""StreamBench: what a step costs beside its calls, and 64 streams at once against 64 bare loops.

Steps: Self-StreamICL with k = 16 over memories of three sizes; whoever answers does so at once, so that what
is measured is search, prompt, feedback (exact match) and row. Streams: the stage's runs over the whole model
layer on an endpoint of its own process that answers after 50 ms, then the same calls by 64 loops over `ask`
alone. `python -m bench streambench`.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from aiohttp import web

import tasks.streambench
from flows.run.collection import collect_seldom
from tasks.models.ask import Ask, Role
from tasks.models.budget import Budget
from tasks.models.client import ModelClient
from tasks.models.dispatcher import Dispatcher
from tasks.models.ledger import Ledger
from tasks.models.recorded_model import RecordedModel
from tasks.models.request_builder import RequestBuilder
from tasks.models.settings import BudgetLimits, Endpoint
from tasks.streambench.entries import MethodChoice
from tasks.streambench.environments.finding import find_environment
from tasks.streambench.method import MethodSetup
from tasks.streambench.rows import MemoryEntry, SequencePlace, StreamItem
from tasks.streambench.solve.agents import AgentReply, RoleAgents
from tasks.streambench.solve.memory_keys import normalise
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.runs import StreamRun, list_runs, order_items
from tasks.streambench.solve.stream_loop import take_step
from tasks.streambench.solve.stream_runs import StreamWork, make_environment_setup, run_all
from tasks.streambench.solve.talk import TalkSetup, Unanswered
from tasks.streambench.solve.vector_memory import VectorMemory

SIZES = (100, 1_000, 10_000)
MEASURED = 200
"""Steps at each size."""
WIDTH = 384
"""Of minilm's vectors."""
STREAMS, STEPS, ROUNDS, LATENCY_S = 64, 100, 5, 0.05
K = 16
REPLY = '{"answer": "Oslo"}'
CHOICE = MethodChoice(method="self_stream_icl")
Kept = dict[str, tuple[tuple[Any, ...], dict[str, Any]]]
"""Row -> the arguments of its call."""
SETTINGS = {"streambench.streams.bench.options.paragraphs_in_shots": False}


@dataclass(frozen=True)
class Spent:
    """Milliseconds a step: by the clock, and of this process's CPU, which a busy machine does not raise."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} ms (CPU {self.cpu:.2f})"


class Stopwatch:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, steps: int) -> Spent:
        """Give what a step took."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return Spent(wall / steps * 1_000, cpu / steps * 1_000)


def main() -> None:
    """Print all figures."""
    collect_seldom()  # as a run does
    asyncio.run(measure_steps(1))
    for size in SIZES:
        step, search = asyncio.run(measure_steps(size))
        print(
            f"streambench: {size:,} memories: {step} a step beside its calls; the search alone {search}",
            flush=True,
        )
    measure_streams()


def make_items(count: int) -> list[StreamItem]:
    """Make questions with a few sentences to read."""
    return [
        StreamItem(
            id=f"i{number:05}",
            dataset="bench",
            kind="hotpotqa",
            key=str(number),
            text=f"Which town is the capital of the land that has number {number} in the list?",
            memory_key=f"Which town is the capital of the land that has number {number} in the list?",
            context=" ".join(f"The town of land {other} is a town." for other in range(number, number + 20)),
            gold="Oslo",
            details="{}",
            file="",
            origin=(),
        )
        for number in range(count)
    ]


def order(items: Sequence[StreamItem], seed: int) -> list[SequencePlace]:
    """Shuffle by a seed."""
    shuffled = np.random.default_rng(seed).permutation(len(items)).tolist()
    return [
        SequencePlace(f"p{seed}-{position}", seed, position, items[place].id, ())
        for position, place in enumerate(shuffled, 1)
    ]


def draw_vectors(count: int) -> list[list[float]]:
    """Draw vectors in clusters, as texts about a few things are."""
    dice = np.random.default_rng(0)
    centres = dice.normal(size=(32, WIDTH))
    near = centres[dice.integers(0, 32, count)] + 0.5 * dice.normal(size=(count, WIDTH))
    return cast("list[list[float]]", near.tolist())


def make_work(
    items: Sequence[StreamItem], sequence: Sequence[SequencePlace], ask: Ask, agents: Any
) -> StreamWork:
    """Make what runs of the stage share."""
    return StreamWork(
        stage="streambench.steps",
        items=items,
        shots=(),
        orders=order_items(items, sequence, None),
        files=Path("nowhere"),
        stream="bench",
        embedder="embedder",
        judge="judge",
        params=StreamLimits(),
        settings=SETTINGS,
        ask=ask,
        agents=agents,
    )


class AtOnce:
    """Answers at once: no call is made."""

    async def ask(
        self,
        agent: str,
        prompt: Path,
        fields: object,
        *,
        row: str,
        parse: Callable[[str], str],
        **more: object,
    ) -> AgentReply:
        """Answer rightly."""
        return AgentReply(REPLY, parse(REPLY), "", (row,))


async def measure_steps(size: int) -> tuple[Spent, Spent]:
    """Measure a step over a memory of a size, and the search alone."""
    items = make_items(MEASURED)
    work = make_work(items, order(items, 0), cast("Ask", None), AtOnce())
    vectors = [normalise(vector) for vector in draw_vectors(size + MEASURED)]
    memory = VectorMemory(StreamLimits().exact_up_to)
    for place, vector in enumerate(vectors[:size]):
        key = f"What is the capital of the land that has number {place} in another list?"
        memory.add(MemoryEntry(f"m{place}", place + 1, "agent", key, "Oslo", True, ""), vector)
    (run,) = list_runs([CHOICE], ["agent"], work.orders, "hotpotqa", k=K)
    environment = find_environment("hotpotqa")(make_environment_setup(work))
    method = run.method(MethodSetup(CHOICE, ("agent",), K, (), lambda: memory, environment.say))
    setup = TalkSetup(environment, work.agents, lambda agent: 32_768, 200, Unanswered(counted=False))
    of_item = {item.id: vector for item, vector in zip(items, vectors[size:], strict=True)}
    watch = Stopwatch()
    for place, item in work.orders.by_seed[0]:
        row = await take_step(run, method, place, item, of_item, setup)
    step = watch.read(MEASURED)
    assert row.bit, row
    assert row.memory_size == size + MEASURED, row
    watch = Stopwatch()
    for vector in of_item.values():
        memory.nearest(vector, K)
    return step, watch.read(MEASURED)


@dataclass
class KeptAsk:
    """A stage's `ask` that keeps what it was asked, and embeds by itself."""

    ask: Ask
    vectors: Mapping[str, list[float]]
    kept: Kept = field(default_factory=dict)

    async def __call__(self, *args: Any, **more: Any) -> Any:
        """Ask, and keep it under its row."""
        self.kept[more["row"]] = args, more
        return await self.ask(*args, **more)

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Look vectors up."""
        return [self.vectors[text] for text in texts]


def measure_streams() -> None:
    """Run streams at once, then their calls by as many bare loops; print both."""
    items = make_items(STEPS)
    sequence = [place for seed in range(STREAMS) for place in order(items, seed)]
    vectors = dict(zip([item.memory_key for item in items], draw_vectors(STEPS), strict=True))
    shares = []
    with serve_slowly() as url:
        with open_model(url) as ask:  # connections and prompts are read once before
            asyncio.run(run_streams(items, sequence[:STEPS], ask, vectors))
        for _ in range(ROUNDS):
            with open_model(url) as ask:
                watch = Stopwatch()
                runs, kept = asyncio.run(run_streams(items, sequence, ask, vectors))
                staged = watch.read(STREAMS * STEPS)
            with open_model(url) as ask:
                watch = Stopwatch()
                asyncio.run(loop_barely(ask, runs, kept))
                bare = watch.read(STREAMS * STEPS)
            shares.append(bare.wall / staged.wall)
            print(
                f"streambench: {STREAMS} streams of {STEPS} steps at {LATENCY_S * 1_000:.0f} ms: "
                f"{1_000 / staged.wall:.0f} steps a second, CPU {staged.cpu:.2f} ms a step; {STREAMS} bare "
                f"loops over `ask`: {1_000 / bare.wall:.0f}, CPU {bare.cpu:.2f}; share {shares[-1]:.2f}, "
                f"by CPU {bare.cpu / staged.cpu:.2f}",
                flush=True,
            )
    print(f"streambench: the median share of {ROUNDS} rounds is {statistics.median(shares):.2f}")


async def run_streams(
    items: Sequence[StreamItem],
    sequence: Sequence[SequencePlace],
    ask: RecordedModel,
    vectors: Mapping[str, list[float]],
) -> tuple[list[list[str]], Kept]:
    """Run a stream for each seed; return the rows of each in order, and what was asked for them."""
    keeping = KeptAsk(cast("Ask", ask), vectors)
    given = cast("Ask", keeping)
    work = make_work(items, sequence, given, RoleAgents(given))
    runs: list[StreamRun] = list_runs([CHOICE], ["agent"], work.orders, "hotpotqa", k=K)
    rows = sorted(await run_all(work, runs), key=lambda row: (row.seed, row.position))
    assert all(row.bit for row in rows), "the script does not fit the environment"
    ids: dict[int, list[str]] = {}
    for row in rows:
        ids.setdefault(row.seed, []).append(row.id)
    return list(ids.values()), keeping.kept


async def loop_barely(
    ask: RecordedModel,
    runs: Sequence[Sequence[str]],
    kept: Mapping[str, tuple[tuple[Any, ...], dict[str, Any]]],
) -> None:
    """Make the same calls, one after the other in each loop."""

    async def loop(rows: Sequence[str]) -> None:
        for row in rows:
            args, more = kept[row]
            await ask(*args, **more)

    await asyncio.gather(*(loop(rows) for rows in runs))


@contextmanager
def open_model(url: str) -> Iterator[RecordedModel]:
    """Give a stage's `ask` over an empty ledger."""
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(BudgetLimits(), {})
        prompts = Path(tasks.streambench.__file__).parent / "prompts"
        role = Role(model="bench", temperature=0, top_p=1, max_tokens=200)
        endpoint = Endpoint(url=url, in_flight=STREAMS)
        with (
            Ledger(Path(folder, "ledger.sqlite")) as ledger,
            Dispatcher(ledger, ModelClient({"bench": endpoint}, budget), budget) as dispatcher,
        ):
            yield RecordedModel(RequestBuilder("bench", prompts, {"agent": role}), dispatcher)


@contextmanager
def serve_slowly() -> Iterator[str]:
    """Serve the endpoint from a process of its own; give its URL."""
    command = [sys.executable, "-c", "from bench.streambench import serve; serve()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve() -> None:
    """Answer after a while, until this process is killed."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY_S)
        message = {"role": "assistant", "content": REPLY}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return web.json_response(
            {"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 5}}
        )

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    main()
