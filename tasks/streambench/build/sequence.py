"""Stage: the exact order of a stream under each of its seeds (section 3.1)."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.streambench.entries import Stream
from tasks.streambench.rows import SequencePlace, StreamItem


def sequence(items: list[StreamItem], entry: Stream) -> Drafts[SequencePlace]:
    """Shuffle the items, sorted by id, by each seed; T places for each."""
    raise StageFailed("streambench.sequence: is not built yet")
