"""Stage: the few-shot examples of a stream, fixed for all runs."""

from __future__ import annotations

from pathlib import Path

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.streambench.entries import Stream
from tasks.streambench.rows import StreamShot


def shots(streambench: Path, entry: Stream) -> Drafts[StreamShot]:
    """Draw examples of the datasets' shots.jsonl: none of them is an item of the stream."""
    raise StageFailed("streambench.shots: is not built yet")
