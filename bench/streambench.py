"""Benchmark StreamBench: the overhead of a step, and 64 concurrent streams against 64 bare loops.

Steps: Self-StreamICL with k = 16 and memories of three sizes, with the whole model layer and an endpoint that
answers immediately. A step includes search, examples, prompt, ledger key and commit, feedback (exact match)
and row. The benchmark fails if the median exceeds 5 ms, or if the cost grows faster than the memory. Streams:
the stage with an endpoint in a separate process that answers after 50 ms, then the same calls in 64 loops
over `ask` alone. `python -m bench streambench`.
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
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from aiohttp import web

import tasks.streambench
from flows.run.collection import collect_seldom
from tasks.models.ask import Ask, Request, Role
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import CallResult, ModelClient, RecordEntries
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import BudgetLimits, Endpoint
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.entries import MethodChoice
from tasks.streambench.environments.finding import find_environment
from tasks.streambench.memory import MemoryEntry, Vector
from tasks.streambench.method import MethodSetup
from tasks.streambench.solve.agents import RoleAgents
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.runs import StreamRun, list_runs, order_items
from tasks.streambench.solve.step_caller import CallerSetup, Unanswered
from tasks.streambench.solve.stream_runs import (
    StreamWork,
    make_environment_setup,
    normalise,
    run_all,
    take_step,
)
from tasks.streambench.solve.vector_memory import VectorMemory

SIZES = (100, 1_000, 10_000)
MEASURED = 200
"""Number of steps measured at each memory size."""
BOUND_MS = 5.0
"""Maximum median overhead of a step, in wall-clock milliseconds."""
WIDTH = 384
"""Dimension of minilm's vectors."""
STREAMS, STEPS, ROUNDS, LATENCY_S = 64, 100, 5, 0.05
K = 16
REPLY = '{"answer": "Oslo"}'
CHOICE = MethodChoice(method="self_stream_icl")
Kept = dict[str, tuple[tuple[Any, ...], dict[str, Any]]]
"""Name of a row -> the arguments of its model call."""
SETTINGS = {"streambench.streams.bench.options.paragraphs_in_shots": False}


@dataclass(frozen=True)
class Spent:
    """Milliseconds per step: wall-clock time, and CPU time of this process, which is independent of load."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} ms (CPU {self.cpu:.2f})"


class Stopwatch:
    """Measures the time since its creation."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, steps: int) -> Spent:
        """Return the mean time per step."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return Spent(wall / steps * 1_000, cpu / steps * 1_000)


def main() -> None:
    """Print all measurements."""
    collect_seldom()  # like a run
    asyncio.run(measure_steps(1))
    medians = {}
    for size in SIZES:
        medians[size], step, search = asyncio.run(measure_steps(size))
        print(
            f"streambench: {size:,} memories: {medians[size]:.2f} ms a step beside its calls in the median "
            f"(bound {BOUND_MS:g}), {step} in the mean; the search alone {search}",
            flush=True,
        )
    measure_streams()
    if broken := list_broken(medians):
        sys.exit("\n".join(f"streambench: {line}" for line in broken))


def list_broken(medians: Mapping[int, float]) -> list[str]:
    """List the violated time limits. medians: memory size -> milliseconds per step."""
    slow = [f"a step over {size:,} memories took {median:.2f} ms" for size, median in medians.items()]
    broken = [line for line, median in zip(slow, medians.values(), strict=True) if median > BOUND_MS]
    for (few, short), (many, long) in pairwise(sorted(medians.items())):
        if long / short > many / few:
            broken.append(f"from {few:,} to {many:,} memories a step takes {long / short:.1f} times as long")
    return broken


def make_items(count: int) -> list[StreamItem]:
    """Generate questions, each with a text of several sentences."""
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
    """Return the items' order, shuffled by a seed."""
    shuffled = np.random.default_rng(seed).permutation(len(items)).tolist()
    return [
        SequencePlace(f"p{seed}-{position}", seed, position, items[place].id, ())
        for position, place in enumerate(shuffled, 1)
    ]


def draw_vectors(count: int, spread: float | None = 0.5) -> list[list[float]]:
    """Sample vectors in clusters, like texts on a few topics. spread: of a cluster; None: no clusters."""
    dice = np.random.default_rng(0)
    if spread is None:
        return cast("list[list[float]]", dice.normal(size=(count, WIDTH)).tolist())
    centres = dice.normal(size=(32, WIDTH))
    near = centres[dice.integers(0, 32, count)] + spread * dice.normal(size=(count, WIDTH))
    return cast("list[list[float]]", near.tolist())


def make_work(
    items: Sequence[StreamItem], sequence: Sequence[SequencePlace], ask: Ask, agents: Any
) -> StreamWork:
    """Return the state that runs of the stage share."""
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


class AnsweringAtOnce(ModelClient):
    """A model client that answers correctly without sending requests."""

    async def send(
        self,
        requests: Mapping[str, Request],
        admit: Callable[[str], bool] = lambda _: True,
        record_entries: RecordEntries | None = None,
    ) -> dict[str, CallResult]:
        """Answer the requests, and record the answers in the ledger."""
        entries = [LedgerEntry(key, REPLY, "stop", 20, 5, model="bench") for key in requests if admit(key)]
        if record_entries is not None:
            await record_entries(entries)
        return {entry.key: CallResult(entry, live=True) for entry in entries}


async def measure_steps(size: int) -> tuple[float, Spent, Spent]:
    """Return a step's wall-clock median and mean times with a memory of `size`, and the search's times."""
    items = make_items(MEASURED)
    vectors = [normalise(vector) for vector in draw_vectors(size + MEASURED)]
    memory = fill_memory(vectors[:size])
    of_item = {item.id: vector for item, vector in zip(items, vectors[size:], strict=True)}
    with open_model(AnsweringAtOnce) as ask:
        given = cast("Ask", ask)
        work = make_work(items, order(items, 0), given, RoleAgents(given))
        (run,) = list_runs([CHOICE], ["agent"], work.orders, "hotpotqa", k=K)
        environment = find_environment("hotpotqa")(make_environment_setup(work))
        method = run.method(MethodSetup(CHOICE, ("agent",), K, (), lambda: memory, environment.say))
        setup = CallerSetup(environment, work.agents, lambda agent: 32_768, 200, Unanswered(counted=False))
        watch, times = Stopwatch(), []
        for place, item in work.orders[0]:
            begun = time.perf_counter()
            row = await take_step(run, method, place, item, of_item, setup)
            times.append(1_000 * (time.perf_counter() - begun))
        step = watch.read(MEASURED)
    assert row.bit, row
    assert row.memory_size == size + MEASURED, row
    watch = Stopwatch()
    for vector in of_item.values():
        memory.nearest(vector, K)
    return statistics.median(times), step, watch.read(MEASURED)


def fill_memory(vectors: Sequence[Vector], exact_up_to: int = StreamLimits().exact_up_to) -> VectorMemory:
    """Return a memory with correct answers at the given vectors."""
    memory = VectorMemory(exact_up_to)
    for place, vector in enumerate(vectors):
        key = f"What is the capital of the land that has number {place} in another list?"
        memory.add(MemoryEntry(f"m{place}", place + 1, "agent", key, "Oslo", True, ""), vector)
    return memory


@dataclass
class KeptAsk:
    """A stage's `ask` that stores the arguments of its calls, and embeds texts from a table."""

    ask: Ask
    vectors: Mapping[str, list[float]]
    kept: Kept = field(default_factory=dict)

    async def __call__(self, *args: Any, **more: Any) -> Any:
        """Call the model, and store the arguments by row."""
        self.kept[more["row"]] = args, more
        return await self.ask(*args, **more)

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Look up the vectors of texts."""
        return [self.vectors[text] for text in texts]


def measure_streams() -> None:
    """Print the times of concurrent streams, and of their calls in the same number of bare loops."""
    items = make_items(STEPS)
    sequence = [place for seed in range(STREAMS) for place in order(items, seed)]
    vectors = dict(zip([item.memory_key for item in items], draw_vectors(STEPS), strict=True))
    shares = []
    with serve_slowly() as url:
        with open_model(ModelClient, url) as ask:  # open connections and read prompts before the measurement
            asyncio.run(run_streams(items, sequence[:STEPS], ask, vectors))
        for _ in range(ROUNDS):
            with open_model(ModelClient, url) as ask:
                watch = Stopwatch()
                runs, kept = asyncio.run(run_streams(items, sequence, ask, vectors))
                staged = watch.read(STREAMS * STEPS)
            with open_model(ModelClient, url) as ask:
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
    """Run a stream for each seed; return each stream's rows in order, and the arguments of their calls."""
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
    """Make the same calls in concurrent loops, sequentially within each loop."""

    async def loop(rows: Sequence[str]) -> None:
        for row in rows:
            args, more = kept[row]
            await ask(*args, **more)

    await asyncio.gather(*(loop(rows) for rows in runs))


@contextmanager
def open_model(client: type[ModelClient], url: str = "http://nowhere") -> Iterator[RecordedModel]:
    """Yield a stage's `ask` with an empty ledger."""
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(BudgetLimits(), {})
        prompts = Path(tasks.streambench.__file__).parent / "prompts"
        role = Role(model="bench", temperature=0, top_p=1, max_tokens=200)
        endpoint = Endpoint(url=url, in_flight=STREAMS)
        with (
            Ledger(Path(folder, "ledger.sqlite")) as ledger,
            Dispatcher(ledger, client({"bench": endpoint}, budget), budget) as dispatcher,
        ):
            yield RecordedModel(RequestBuilder("bench", prompts, {"agent": role}), dispatcher)


@contextmanager
def serve_slowly() -> Iterator[str]:
    """Serve the endpoint from a separate process; yield its URL."""
    command = [sys.executable, "-c", "from bench.streambench import serve; serve()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve() -> None:
    """Answer each request after a delay, until this process is killed."""

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
