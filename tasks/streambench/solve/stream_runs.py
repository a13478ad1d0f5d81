"""All runs of a stage at once: the environment, the embedded keys, progress, and what nobody answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tasks.errors import ModelFailed, StageFailed
from tasks.models.ask import Ask
from tasks.models.stream_board import BOARD
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import read_nested
from tasks.streambench.environment import Environment, EnvironmentSetup
from tasks.streambench.environments.finding import find_environment
from tasks.streambench.memory import Vector
from tasks.streambench.method import MethodSetup, StreamMethod
from tasks.streambench.solve.agents import StreamAgents
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.runs import StreamOrders, StreamRun
from tasks.streambench.solve.stream_loop import gather_or_stop, run_stream
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.solve.talk import TalkSetup, Unanswered
from tasks.streambench.solve.vector_memory import VectorMemory

SECTION = "streambench.streams"
NAMED = 3


@dataclass(frozen=True)
class StreamWork:
    """What the runs of a stage share. settings: of the stage, by dotted name; files: of the environment."""

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
    """Run all runs at once, each in its own order.

    Raises StageFailed at the end where no endpoint answered a step's call, unless such a step counts as
    wrong; what a method or environment refuses (BadInput), BudgetSpent and CallMissing at once.
    """
    asked = sorted({item.id: item for run in runs for _, item in work.orders.by_seed[run.seed]}.items())
    items = [item for _, item in asked]
    made = find_environment(work.items[0].kind)(make_environment_setup(work))
    unanswered = Unanswered(work.params.count_unanswered)
    setup = TalkSetup(
        made, work.agents, lambda agent: find_window(agent, work), work.params.critique_tokens, unanswered
    )
    methods = {run.name: run.method(make_method_setup(run, work, made)) for run in runs}
    vectors: Mapping[str, Vector] = {}
    if any(run.method.searches for run in runs):
        vectors = await embed_keys(items, work.ask, work.embedder)
    async with made:
        rows = await follow_all(runs, methods, vectors, setup, work)
    problems = unanswered.problems
    if problems and not work.params.count_unanswered:
        some = "; ".join(sorted(set(problems.values()))[:NAMED])
        raise StageFailed(
            f"{work.stage}: {len(problems)} steps have a call that no endpoint answered ({some}); streams "
            "that learn ended there; what was answered is in the ledger, and a run again asks the rest; "
            "count_unanswered: true counts such steps as wrong"
        )
    return rows


async def follow_all(
    runs: Sequence[StreamRun],
    methods: Mapping[str, StreamMethod],
    vectors: Mapping[str, Vector],
    setup: TalkSetup,
    work: StreamWork,
) -> list[StreamStep]:
    """Run streams at once, and say how far each is."""
    orders = work.orders.by_seed
    with BOARD.follow({run.name: len(orders[run.seed]) for run in runs}) as lines:
        found = await gather_or_stop(
            run_stream(run, methods[run.name], orders[run.seed], vectors, setup, lines[run.name].tell)
            for run in runs
        )
    return [row for rows in found for row in rows]


async def embed_keys(items: Sequence[StreamItem], ask: Ask, role: str) -> Mapping[str, Vector]:
    """Embed the memory keys of items: item -> its vector, L2-normalised; of width 0 while planning.

    Raises ModelFailed, also for vectors of several widths, BudgetSpent, CallMissing.
    """
    keys = sorted({item.memory_key for item in items})
    vectors = await ask.embed(keys, role=role, row="memory_keys")
    widths = {len(vector) for vector in vectors} - {0}
    if len(widths) > 1:
        raise ModelFailed(f"{role}: vectors of different lengths came ({sorted(widths)})")
    found = {key: normalise(vector) for key, vector in zip(keys, vectors, strict=True)}
    return {item.id: found[item.memory_key] for item in items}


def normalise(values: Sequence[float]) -> Vector:
    """Scale a vector to unit length; one of zeros stays as it is."""
    vector = np.array(values, np.float64)
    length = float(np.sqrt((vector * vector).sum()))
    return (vector / length if length else vector).astype(np.float32)


def make_environment_setup(work: StreamWork) -> EnvironmentSetup:
    """Make what the environment is made with: the stream's rule and options."""
    section = f"{SECTION}.{work.stream}"
    return EnvironmentSetup(
        files=work.files,
        items=work.items,
        rule=str(work.settings.get(f"{section}.rule", "")),
        options=read_nested(work.settings, f"{section}.options"),
        ask=work.ask,
        judge=work.judge,
        embedder=work.embedder,
    )


def make_method_setup(run: StreamRun, work: StreamWork, environment: Environment) -> MethodSetup:
    """Make what a method is made with."""
    return MethodSetup(
        choice=run.choice,
        agents=run.agents,
        k=run.k,
        shots=tuple(sorted(work.shots, key=lambda shot: shot.place)),
        make_memory=lambda: VectorMemory(work.params.exact_up_to),
        say=environment.say,
        refinements=work.params.refinements,
    )


def find_window(agent: str, work: StreamWork) -> int:
    """Find the context of a role's model, in tokens."""
    served = work.settings.get(f"roles.{agent}.model")
    known = work.settings.get(f"models.{served}.context")
    return work.params.windows.get(agent, known if isinstance(known, int) else work.params.window)
