"""One run over its sequence: ask, judge, learn, a row a step (algorithm 1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from tasks.artifacts.rows import Origin, make_id
from tasks.scoring.outcome import Outcome
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.environment import Feedback
from tasks.streambench.memory import NO_VECTOR, MemoryEntry, Vector
from tasks.streambench.method import SeenStep, StepReply, StreamMethod
from tasks.streambench.solve.runs import StreamRun
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.solve.talk import Booked, StreamTalk, TalkSetup

WIDTH = 32
"""Steps at once of a method whose steps do not depend on each other."""

ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)

Result = TypeVar("Result")
Places = Sequence[tuple[SequencePlace, StreamItem]]


async def run_stream(
    run: StreamRun,
    method: StreamMethod,
    places: Places,
    vectors: Mapping[str, Vector],
    setup: TalkSetup,
    tell: Callable[[bool], None],
) -> list[StreamStep]:
    """Run a method over a sequence; vectors: item -> its embedded key. tell: called with each step's bit.

    A sequential run ends at a call that no endpoint answered, unless such a step counts as wrong. Raises
    BudgetSpent and CallMissing.
    """
    if run.method.sequential:
        rows = []
        for place, item in places:
            row = await take_step(run, method, place, item, vectors, setup)
            tell(row.bit)
            rows.append(row)
            if row.id in setup.unanswered.problems and not setup.unanswered.counted:
                break  # a run again answers it, and may learn otherwise from there on
        return rows
    room = asyncio.Semaphore(WIDTH)

    async def take_alone(place: SequencePlace, item: StreamItem) -> StreamStep:
        async with room:
            row = await take_step(run, method, place, item, vectors, setup)
        tell(row.bit)
        return row

    return await gather_or_stop(take_alone(place, item) for place, item in places)


async def gather_or_stop(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Await works at once; the first that fails stops the others before its error is raised.

    An environment must not end while a stream still asks it.
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
    """Name a step; later steps name it too."""
    return make_id("step", run, position)


@lru_cache(maxsize=65_536)
def refer_to(run: str, position: int, item: str) -> Origin:
    """Name what a prompt showed as an origin: a step of the run, or the shot `item` at position 0."""
    return Origin("row", f"steps#{name_step(run, position)}" if position else f"shots#{item}")


async def take_step(
    run: StreamRun,
    method: StreamMethod,
    place: SequencePlace,
    item: StreamItem,
    vectors: Mapping[str, Vector],
    setup: TalkSetup,
) -> StreamStep:
    """Take one step: the method's answer, the feedback, what it learns."""
    step = name_step(run.name, place.position)
    vector = vectors.get(item.id, NO_VECTOR) if run.method.searches else NO_VECTOR
    seen = SeenStep(place.position, item.id, item.text, item.memory_key, vector, run.agents)
    talk = StreamTalk(setup, item, step)
    reply = await method.step(seen, talk)
    feedback = await talk.judge(reply)
    stored = await method.learn(seen, reply, feedback, talk) if run.method.sequential else None
    return make_row(step, run, place, item, reply, feedback, stored, method.measure_memory(), talk.booked)


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
    """Make the row of a step. Figures of the prompt stand in `values` as `prompt.<name>`."""
    values = {**feedback.values, **{f"prompt.{name}": value for name, value in booked.notes.items()}}
    calls = tuple(dict.fromkeys(booked.calls))
    judge_calls = tuple(dict.fromkeys(booked.judge_calls))
    shadow_calls = tuple(dict.fromkeys(booked.shadow_calls))
    past = [refer_to(run.name, one.position, one.item) for one in reply.shown]
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
