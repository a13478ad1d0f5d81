"""Stage: run the user's system, instead of an agent, over the stream."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.models.ask import Ask
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import OwnStream
from tasks.streambench.solve.agents import SystemAgent
from tasks.streambench.solve.options import OwnLimits
from tasks.streambench.solve.runs import list_runs, order_items
from tasks.streambench.solve.steps import list_answered as list_answered
from tasks.streambench.solve.steps import list_scored as list_scored
from tasks.streambench.solve.stream_runs import StreamWork, run_all
from tasks.streambench.solve.stream_step import StreamStep
from tasks.systems.build import build_system
from tasks.systems.entries import SystemEntry


async def system_steps(
    items: list[StreamItem],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    streambench: Path,
    entry: OwnStream,
    system: SystemEntry,
    params: OwnLimits,
    settings: Mapping[str, Any],
    ask: Ask,
    limit: int | None = None,
) -> Drafts[StreamStep]:
    """Run the user's system over the stream; return one row per step, like the stage `steps`.

    Each prompt is sent to the system as a question. In each row, `agent` is the system's name.
    """
    orders = order_items(items, sequence, None, whole=limit is None)
    runs = list_runs(entry.methods, (entry.system,), orders, items[0].kind, k=entry.k, seeds=entry.seeds)
    work = StreamWork(
        stage="streambench.system_steps",
        items=items,
        shots=shots,
        orders=orders,
        files=entry.files or streambench,
        stream=entry.stream,
        embedder=entry.embedder,
        judge=entry.judge,
        params=params,
        settings=settings,
        ask=ask,
        agents=SystemAgent(build_system(entry.system, system, (), ask)),
    )
    return Drafts(await run_all(work, runs))
