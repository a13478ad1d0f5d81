"""Stage: every run of an evaluation, step by step (section 2, algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.judging.scored import Scored
from tasks.models.ask import Ask
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.rows import SequencePlace, StreamItem, StreamShot, StreamStep
from tasks.streambench.solve.options import StreamLimits


async def steps(
    items: list[StreamItem],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    streambench: Path,
    entry: StreamEvaluation,
    params: StreamLimits,
    settings: Mapping[str, Any],
    ask: Ask,
) -> Drafts[StreamStep]:
    """Run method x models x seed at once, each in the order of its sequence; one row a step, failed ones too.

    settings: the stream's own (rule, options), the roles and the models' windows.
    """
    raise StageFailed("streambench.steps: is not built yet")


def list_scored(rows: Iterable[StreamStep]) -> list[Scored]:
    """List the bit of each step for the comparison of nights."""
    return [Scored(row.id, row.item, float(row.bit)) for row in rows]
