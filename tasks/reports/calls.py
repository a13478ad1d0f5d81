"""Model calls as a page shows them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

TOLD_OF_A_CALL = (
    "stage", "role", "model", "prompt", "prompt_digest", "attempt", "epoch", "messages", "decoding", "text",
    "prompt_tokens", "completion_tokens", "parsed", "problem",
)  # fmt: skip


def read_calls(paths: Iterable[Path], wanted: Collection[str] | None = None) -> dict[str, Any]:
    """Read calls by their ledger key: the wanted ones, or all that have a prompt.

    An embedding has none, and its row would make a page long.
    """
    calls: dict[str, Any] = {}
    for path in paths:
        for record in pq.read_table(path, columns=["id", *TOLD_OF_A_CALL]).to_pylist():
            if record["id"] in wanted if wanted is not None else record["prompt"]:
                calls[record.pop("id")] = {**record, "messages": json.loads(record["messages"])}
    return dict(sorted(calls.items()))
