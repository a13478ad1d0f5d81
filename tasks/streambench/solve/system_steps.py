"""Stage: every run of a system of the user's, in the agent's place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.models.ask import Ask
from tasks.streambench.entries import OwnStream
from tasks.streambench.rows import SequencePlace, StreamItem, StreamShot, StreamStep
from tasks.streambench.solve.options import StreamLimits
from tasks.systems.entries import SystemEntry


async def system_steps(
    items: list[StreamItem],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    streambench: Path,
    entry: OwnStream,
    system: SystemEntry,
    params: StreamLimits,
    settings: Mapping[str, Any],
    ask: Ask,
) -> Drafts[StreamStep]:
    """Do as `steps` does; each prompt goes to the system as a question, `agent` is its name."""
    raise StageFailed("streambench.system_steps: is not built yet")
