"""Count the claims whose value is an item outside the import, and therefore without a label."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.limits import go_on
from tasks.sources.wikidata.known_ids import KnownIds

MOST_NAMED = 5
"""Maximum number of properties that the message of `word_left_out` names."""


def count_left_out(folder: Path) -> Counter[str]:
    """Count, by property, the claims whose value is an item that was not imported.

    Memory use is one bit per entity id.
    """
    known = KnownIds()
    with pq.ParquetFile(folder / "entities.parquet") as file:
        for batch in file.iter_batches(columns=["id", "redirects"]):
            for names in (batch.column("id"), batch.column("redirects").flatten()):
                for name in names.to_pylist():
                    known.add(name)
    counts: Counter[str] = Counter()
    with pq.ParquetFile(folder / "claims.parquet") as file:
        for batch in file.iter_batches(columns=["property", "value.item"]):
            go_on()
            items = batch.column("value").field("item")
            table = pa.table({"property": batch.column("property"), "item": items})
            for row in table.group_by(["property", "item"]).aggregate([([], "count_all")]).to_pylist():
                if row["item"] is not None and row["item"] not in known:
                    counts[row["property"]] += row["count_all"]
    return counts


def word_left_out(counts: Counter[str]) -> str:
    """Return a message with the number of claims whose value is a missing item.

    The message lists up to `MOST_NAMED` properties with their counts, largest count first.
    """
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    said = ", ".join(f"{name}: {count:,}" for name, count in ordered[:MOST_NAMED])
    more = len(ordered) - MOST_NAMED
    rest = f" and {more:,} more properties" if more > 0 else ""
    return (
        f"claims of items that were not read: {counts.total():,} ({said}{rest}); these items have no labels, "
        "so no question can name them"
    )
