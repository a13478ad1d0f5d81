"""Execute all runs of a stage concurrently, and track progress and failed calls.

A run answers, scores and learns step by step over its sequence (StreamBench, algorithm 1), and returns one
row per step.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tasks.artifacts.rows import Origin, make_id
from tasks.errors import ModelFailed, StageFailed
from tasks.models.ask import Ask
from tasks.models.stream_board import BOARD
from tasks.scoring.outcome import Outcome
from tasks.scoring.reply_readings import LENIENT
from tasks.settings import read_nested
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback
from tasks.streambench.environments.finding import find_environment
from tasks.streambench.memory import NO_VECTOR, MemoryEntry, Vector
from tasks.streambench.method import MethodSetup, SeenStep, StepReply, StreamMethod
from tasks.streambench.solve.agents import StreamAgents
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.runs import Places, StreamOrders, StreamRun
from tasks.streambench.solve.step_caller import Booked, CallerSetup, StreamCaller, Unanswered
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.solve.vector_memory import VectorMemory

SECTION = "streambench.streams"
# Maximum number of different problems in the error message.
NAMED = 3
WIDTH = 32
"""Number of concurrent steps in a run whose steps are independent of each other."""
ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
Result = TypeVar("Result")


@dataclass(frozen=True)
class StreamWork:
    """The inputs for all runs of a stage. settings: values by dotted name. files: the datasets' folder."""

    stage: str
    items: Sequence[StreamItem]
    shots: Sequence[StreamShot]
    orders: StreamOrders
    files: Path
    stream: str
    embedder: str
    judge: str
    params: StreamLimits
    settings: Mapping[str, Any]
    ask: Ask
    agents: StreamAgents


async def run_all(work: StreamWork, runs: Sequence[StreamRun]) -> list[StreamStep]:
    """Execute all runs concurrently, and return one row per step.

    Raises StageFailed at the end if a call received no reply from any endpoint, unless unanswered steps
    count as wrong. Raises BadInput (from a method or environment), BudgetSpent and CallMissing immediately.
    """
    asked = sorted({item.id: item for run in runs for _, item in work.orders[run.seed]}.items())
    items = [item for _, item in asked]
    kind, own = find_environment(work.items[0].kind), make_environment_setup(work)
    made = kind(own)
    second = next((name for name in kind.readings if name != own.reading), None)
    other = kind(replace(own, reading=second, judge="")) if second is not None else None
    unanswered = Unanswered(work.params.count_unanswered)
    setup = CallerSetup(
        made,
        work.agents,
        lambda agent: find_window(agent, work),
        work.params.critique_tokens,
        unanswered,
        other,
    )
    methods = {run.name: run.method(make_method_setup(run, work, made)) for run in runs}
    vectors: Mapping[str, Vector] = {}
    if any(run.method.searches for run in runs):
        vectors = await embed_keys(items, work.ask, work.embedder)
    async with made, other or nullcontext():
        rows = await follow_all(runs, methods, vectors, setup, work)
    problems = unanswered.problems
    if problems and not work.params.count_unanswered:
        some = "; ".join(sorted(set(problems.values()))[:NAMED])
        raise StageFailed(
            f"{work.stage}: {len(problems)} steps have a call that no endpoint answered ({some}). Learning "
            "methods stopped at these steps. The next run repeats only the unanswered calls; "
            "set count_unanswered: true to count such steps as wrong"
        )
    return rows


async def follow_all(
    runs: Sequence[StreamRun],
    methods: Mapping[str, StreamMethod],
    vectors: Mapping[str, Vector],
    setup: CallerSetup,
    work: StreamWork,
) -> list[StreamStep]:
    """Execute all runs concurrently, and show the progress of each run."""
    with BOARD.follow({run.name: len(work.orders[run.seed]) for run in runs}) as lines:
        found = await gather_or_stop(
            run_stream(run, methods[run.name], work.orders[run.seed], vectors, setup, lines[run.name].tell)
            for run in runs
        )
    return [row for rows in found for row in rows]


async def embed_keys(items: Sequence[StreamItem], ask: Ask, role: str) -> Mapping[str, Vector]:
    """Map each item's id to its embedded memory key, an L2-normalised vector; empty vectors in a dry run.

    Raises ModelFailed (also if vectors differ in width), BudgetSpent and CallMissing.
    """
    keys = sorted({item.memory_key for item in items})
    vectors = await ask.embed(keys, role=role, row="memory_keys")
    widths = {len(vector) for vector in vectors} - {0}
    if len(widths) > 1:
        raise ModelFailed(f"{role}: the endpoint returned vectors of different lengths ({sorted(widths)})")
    found = {key: normalise(vector) for key, vector in zip(keys, vectors, strict=True)}
    return {item.id: found[item.memory_key] for item in items}


def normalise(values: Sequence[float]) -> Vector:
    """Return a vector scaled to unit length; a zero vector is unchanged."""
    vector = np.array(values, np.float64)
    length = float(np.sqrt((vector * vector).sum()))
    return (vector / length if length else vector).astype(np.float32)


def make_environment_setup(work: StreamWork) -> EnvironmentSetup:
    """Return the arguments for creating the environment, with the stream's rule and options."""
    section = f"{SECTION}.{work.stream}"
    return EnvironmentSetup(
        files=work.files,
        items=work.items,
        rule=str(work.settings.get(f"{section}.rule", "")),
        options=read_nested(work.settings, f"{section}.options"),
        ask=work.ask,
        judge=work.judge,
        embedder=work.embedder,
        reading=str(work.settings.get(f"{section}.reading") or LENIENT),
    )


def make_method_setup(run: StreamRun, work: StreamWork, environment: Environment) -> MethodSetup:
    """Return the arguments for creating a run's method."""
    return MethodSetup(
        choice=run.choice,
        agents=run.agents,
        k=run.k,
        shots=tuple(
            sorted(
                (shot for shot in work.shots if shot.seed in (None, run.seed)), key=lambda shot: shot.place
            )
        ),
        make_memory=lambda: VectorMemory(work.params.exact_up_to),
        say=environment.say,
        refinements=work.params.refinements,
    )


def find_window(agent: str, work: StreamWork) -> int:
    """Return the context window of a role's model, in tokens."""
    served = work.settings.get(f"roles.{agent}.model")
    known = work.settings.get(f"models.{served}.context")
    return work.params.windows.get(agent, known if isinstance(known, int) else work.params.window)


async def run_stream(
    run: StreamRun,
    method: StreamMethod,
    places: Places,
    vectors: Mapping[str, Vector],
    setup: CallerSetup,
    tell: Callable[[bool], None],
) -> list[StreamStep]:
    """Run a method over a sequence. vectors: item -> embedded key. tell: called with each step's bit.

    A sequential run ends at a call without a reply, unless unanswered steps count as wrong. Raises
    BudgetSpent and CallMissing.
    """
    if run.method.sequential:
        rows = []
        for place, item in places:
            row = await take_step(run, method, place, item, vectors, setup)
            tell(row.bit)
            rows.append(row)
            if row.id in setup.unanswered.problems and not setup.unanswered.counted:
                break  # the next run repeats this step, and may learn differently afterwards
        return rows
    room = asyncio.Semaphore(WIDTH)

    async def take_alone(place: SequencePlace, item: StreamItem) -> StreamStep:
        async with room:
            row = await take_step(run, method, place, item, vectors, setup)
        tell(row.bit)
        return row

    return await gather_or_stop(take_alone(place, item) for place, item in places)


async def gather_or_stop(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Return the results of concurrent coroutines; if one fails, cancel the rest, then raise the error.

    The environment is therefore never closed while a run still uses it.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@lru_cache(maxsize=65_536)
def name_step(run: str, position: int) -> str:
    """Return the id of a step; cached, since later steps refer to this step."""
    return make_id("step", run, position)


@lru_cache(maxsize=65_536)
def refer_to(run: str, position: int, item: str) -> Origin:
    """Return the origin of an example in a prompt: a step of the run, or (position 0) a few-shot example."""
    return Origin("row", f"steps#{name_step(run, position)}" if position else f"shots#{item}")


async def take_step(
    run: StreamRun,
    method: StreamMethod,
    place: SequencePlace,
    item: StreamItem,
    vectors: Mapping[str, Vector],
    setup: CallerSetup,
) -> StreamStep:
    """Run one step: the method answers, gets feedback and learns."""
    step = name_step(run.name, place.position)
    vector = vectors.get(item.id, NO_VECTOR) if run.method.searches else NO_VECTOR
    seen = SeenStep(place.position, item.id, item.text, item.memory_key, vector, run.agents)
    caller = StreamCaller(setup, item, step)
    reply = await method.step(seen, caller)
    feedback = await caller.judge(reply)
    stored = await method.learn(seen, reply, feedback, caller) if run.method.sequential else None
    feedback = replace(feedback, values={**feedback.values, **await caller.compare(reply, feedback)})
    return make_row(step, run, place, item, reply, feedback, stored, method.measure_memory(), caller.booked)


def make_row(
    step: str,
    run: StreamRun,
    place: SequencePlace,
    item: StreamItem,
    reply: StepReply,
    feedback: Feedback,
    stored: MemoryEntry | None,
    memory_size: int,
    booked: Booked,
) -> StreamStep:
    """Return the row of a step. Metrics of the prompt are in `values` as `prompt.<name>`."""
    values = {**feedback.values, **{f"prompt.{name}": value for name, value in booked.notes.items()}}
    calls = tuple(dict.fromkeys(booked.calls))
    judge_calls = tuple(dict.fromkeys(booked.judge_calls))
    shadow_calls = tuple(dict.fromkeys(booked.shadow_calls))
    past = [refer_to(run.name, entry.position, entry.item) for entry in reply.shown]
    failed = reply.problem if reply.answer is None else feedback.problem
    return StreamStep(
        id=step,
        run=run.name,
        method=run.choice.label,
        agents=run.agents,
        seed=run.seed,
        k=run.k,
        position=place.position,
        item=item.id,
        agent=reply.agent,
        shown=reply.shown,
        left_out=tuple(dict.fromkeys(booked.left_out)),
        reply=reply.text,
        answer=reply.answer,
        bit=feedback.bit,
        outcome=feedback.outcome,
        words=feedback.words,
        values=ENCODER.encode(values),
        failed=failed if reply.answer is None or feedback.outcome == Outcome.UNJUDGED else "",
        stored=stored,
        memory_size=memory_size,
        calls=calls,
        judge_calls=judge_calls,
        shadow_calls=shadow_calls,
        origin=(
            Origin("row", f"items#{item.id}"),
            Origin("row", f"sequence#{place.id}"),
            *past,
            *[Origin("call", call) for call in dict.fromkeys((*calls, *judge_calls, *shadow_calls))],
        ),
    )
