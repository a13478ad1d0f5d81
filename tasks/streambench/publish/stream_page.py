"""Stage: the page of a stream: its items, its order, its examples."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import StageFailed
from tasks.streambench.rows import SequencePlace, StreamItem, StreamShot


def stream_page(
    items: list[StreamItem],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    contracts: Path,
    key: str,
    out: Path,
) -> None:
    """Write the page into the folder `out`."""
    raise StageFailed("streambench.stream_page: is not built yet")
