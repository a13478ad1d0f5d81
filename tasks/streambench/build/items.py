"""Stage: the items of a stream, of one or more dataset folders of one kind."""

from __future__ import annotations

from pathlib import Path

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.streambench.entries import Stream
from tasks.streambench.rows import StreamItem


def items(streambench: Path, entry: Stream, limit: int | None = None) -> Drafts[StreamItem]:
    """Read and draw the items. What cannot be asked is dropped with a reason.

    streambench: data/raw/streambench.

    Raises BadInput for a folder that is missing, changed since its import (checksum), or of another kind.
    """
    raise StageFailed("streambench.items: is not built yet")
