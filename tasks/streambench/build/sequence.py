"""Stage: the exact order of a stream under each of its seeds (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.errors import BadInput
from tasks.sources.drawing import order_by_seed
from tasks.streambench.build.items import StreamItem
from tasks.streambench.entries import Stream


@dataclass(frozen=True)
class SequencePlace:
    """Stage sequence: the exact order of a stream under a seed (section 3.1)."""

    id: str
    """`make_id("place", stream, seed, position)`"""
    seed: int
    position: int
    """t, from 1 to T."""
    item: str
    origin: tuple[Origin, ...]


def sequence(items: list[StreamItem], entry: Stream, key: str) -> Drafts[SequencePlace]:
    """Shuffle the items, sorted by id, by each seed; T places for each.

    The order is that of the hashes of seed and item: the same under every version of Python.
    """
    if not items:
        raise BadInput("streambench.sequence", "there is no item", hint="look at the stream's datasets")
    return Drafts(
        [
            SequencePlace(
                make_id("place", key, seed, position),
                seed,
                position,
                item.id,
                (Origin("row", f"items#{item.id}"),),
            )
            for seed in entry.seeds
            for position, item in enumerate(order_by_seed(items, seed, lambda own: own.id, "sequence"), 1)
        ]
    )
