"""Stage: the exact order of a stream under each of its seeds (section 3.1)."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.errors import BadInput
from tasks.sources.drawing import order_by_seed
from tasks.streambench.entries import Stream
from tasks.streambench.rows import SequencePlace, StreamItem


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
