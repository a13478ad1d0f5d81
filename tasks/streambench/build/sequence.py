"""Stage: compute the order of a stream's items for each seed (StreamBench, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.errors import BadInput
from tasks.sources.drawing import order_by_seed
from tasks.streambench.build.items import StreamItem, open_datasets
from tasks.streambench.build.released_order import HASHED, order_rows
from tasks.streambench.entries import Stream


@dataclass(frozen=True)
class SequencePlace:
    """Row of the stage `sequence`: the item at a position of a stream, for one seed (StreamBench, 3.1)."""

    id: str
    """The row's id: `make_id("place", stream, seed, position)`."""
    seed: int
    position: int
    """The step number t, from 1 to T."""
    item: str
    origin: tuple[Origin, ...]


def sequence(items: list[StreamItem], streambench: Path, entry: Stream, key: str) -> Drafts[SequencePlace]:
    """Return one row per seed and position: the items in the order of each seed.

    streambench: data/raw/streambench. The order `hashed` sorts by a hash of seed and item, and is the same in
    all Python versions. Raises BadInput if the dataset does not support the entry's order.
    """
    if not items:
        raise BadInput("streambench.sequence", "the stream has no items", hint="check the stream's datasets")
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
            for position, item in enumerate(order_items(items, streambench, entry, seed), 1)
        ]
    )


def order_items(items: Sequence[StreamItem], streambench: Path, entry: Stream, seed: int) -> list[StreamItem]:
    """Return the items in the order of the given seed. In a preview, `items` are only part of the stream."""
    if entry.order == HASHED:
        return order_by_seed(items, seed, lambda item: item.id, "sequence")
    (dataset,) = open_datasets(streambench, entry.datasets)
    there = {item.key: item for item in items}
    return [there[key] for key in order_rows(entry, dataset, seed) if key in there]
