"""Model calls as a page shows them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True)
class ShownCall:
    """A call with what was asked and answered; its fields are the keys that pages/core.js reads.

    They are columns of a calls artifact, `messages` decoded: role and content of each. id: the ledger key.
    """

    id: str
    stage: str
    role: str
    model: str
    prompt: str
    prompt_digest: str
    attempt: int
    epoch: str
    messages: list[dict[str, object]]
    decoding: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    parsed: bool
    problem: str


def read_calls(paths: Iterable[Path], wanted: Collection[str] | None = None) -> dict[str, ShownCall]:
    """Read calls by their ledger key: the wanted ones, or all that have a prompt.

    An embedding has none, and its row would make a page long.
    """
    columns = [field.name for field in fields(ShownCall)]
    calls: dict[str, ShownCall] = {}
    for path in paths:
        for record in pq.read_table(path, columns=columns).to_pylist():
            if record["id"] in wanted if wanted is not None else record["prompt"]:
                calls[record["id"]] = ShownCall(**{**record, "messages": json.loads(record["messages"])})
    return dict(sorted(calls.items()))
