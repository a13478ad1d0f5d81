"""Stage: run all methods of an evaluation over the stream, step by step (StreamBench, algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.judging.answered import Answered, Scored
from tasks.models.ask import Ask
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.solve.agents import RoleAgents
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.runs import list_runs, order_items
from tasks.streambench.solve.stream_runs import StreamWork, run_all
from tasks.streambench.solve.stream_step import StreamStep


async def steps(
    items: list[StreamItem],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    streambench: Path,
    entry: StreamEvaluation,
    params: StreamLimits,
    settings: Mapping[str, Any],
    ask: Ask,
    limit: int | None = None,
) -> Drafts[StreamStep]:
    """Run all combinations of method, models and seed; return one row per step, including failed steps.

    - settings: the stream's rule and options, the roles, and the models' context windows.
    - limit: number of items in a preview, otherwise None.

    Raises StageFailed at the end if a call received no reply from any endpoint.
    """
    orders = order_items(items, sequence, entry.steps, whole=limit is None)
    runs = list_runs(
        entry.methods,
        entry.models,
        orders,
        items[0].kind,
        k=entry.k,
        seeds=entry.seeds,
        method_seeds=entry.method_seeds,
        method_models=entry.method_models,
    )
    work = StreamWork(
        stage="streambench.steps",
        items=items,
        shots=shots,
        orders=orders,
        files=streambench,
        stream=entry.stream,
        embedder=entry.embedder,
        judge=entry.judge,
        params=params,
        settings=settings,
        ask=ask,
        agents=RoleAgents(ask),
    )
    return Drafts(await run_all(work, runs))


def list_scored(rows: Iterable[StreamStep]) -> list[Scored]:
    """Return the feedback bit of each step, to compare nightly runs."""
    return [Scored(row.id, row.item, float(row.bit)) for row in rows]


def list_answered(items: list[StreamItem], steps: list[StreamStep]) -> list[Answered]:
    """Return the answer of each step, to compare nightly runs. An item with two seeds counts as two cases."""
    asked = {row.id: row for row in items}
    return [
        Answered(
            id=row.id,
            case=f"{row.item} seed {row.seed}",
            system=f"{row.method}/{'+'.join(row.agents)}",
            metric="accuracy",
            question=asked[row.item].text,
            reference=asked[row.item].gold,
            answer=row.answer or row.reply or row.failed,
            note=row.words or row.outcome.shown,
        )
        for row in steps
    ]
