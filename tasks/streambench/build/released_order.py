"""Compute StreamBench's order: the released rows, sorted or shuffled as in Hugging Face `datasets`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.errors import BadInput
from tasks.sources.stream_dataset import SplitRows
from tasks.streambench.build.dataset_reading import StreamDataset
from tasks.streambench.entries import Stream

HASHED, SHIFT = "hashed", "distribution_shift"
DATABASE = "db_id"
TITLES: Mapping[str, str] = {
    HASHED: "hashed: sorted by a hash of the seed and the item",
    "released": "released: the paper's order, from datasets.Dataset.shuffle(seed)",
    SHIFT: "distribution_shift: the released rows sorted by database, the same for every seed",
}
"""Order -> description in reports."""


def permute(count: int, seed: int) -> list[int]:
    """Return row numbers in the same order as `datasets.Dataset.shuffle(seed)`.

    count: number of rows in the split.
    """
    return [int(row) for row in np.random.default_rng(seed).permutation(count)]


def require_rows(entry: Stream, datasets: Sequence[StreamDataset]) -> SplitRows:
    """Return the row counts of the dataset's splits; `take`, if set, replaces the number of items.

    Raises BadInput if there are several datasets, if the dataset does not have the released rows, or if
    `take` exceeds the number of rows.
    """
    where = "streambench.streams"
    if len(datasets) != 1:
        raise BadInput(where, f"order: {entry.order} requires one dataset, not {len(datasets)}")
    name, rows = datasets[0].folder.name, datasets[0].rows
    if rows is None:
        raise BadInput(
            where,
            f"order: {entry.order}: the dataset {name} does not have the released rows",
            hint="run `benchloom import streambench`, or set `order: hashed`",
        )
    if entry.take is not None and entry.take > rows.items:
        raise BadInput(where, f"`take` asks for {entry.take:,} rows, but {name} has {rows.items:,}")
    return SplitRows(entry.take or rows.items, rows.shots, rows.shuffled)


def order_rows(entry: Stream, dataset: StreamDataset, seed: int) -> list[str]:
    """Return the keys of a dataset's items in the entry's order, without rows that were not imported.

    Raises the same errors as `require_rows`, and BadInput if the order is by database but
    items have no database.
    """
    count = require_rows(entry, [dataset]).items
    items = {item.row: item for item in dataset.read_items() if item.row is not None and item.row < count}
    if entry.order == SHIFT:
        if any(DATABASE not in item.details for item in items.values()):
            raise BadInput("streambench.streams", f"order: {SHIFT}: some items have no {DATABASE}")
        rows = sorted(items, key=lambda row: (str(items[row].details[DATABASE]), row))
    else:
        rows = [row for row in permute(count, seed) if row in items]
    return [items[row].key for row in rows]
