"""Read model calls for report pages."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import pyarrow.parquet as pq

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection


@dataclass(frozen=True)
class ShownCall:
    """A model call to show on a page, in the format of pages/core.js.

    The fields are columns of a calls artifact, with `messages` decoded to role and content. `id`: the ledger
    key.
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
    finish_reason: str = ""
    answered_by: str = ""
    reasoning: str = ""


def read_calls(paths: Iterable[Path], wanted: Collection[str] | None = None) -> dict[str, ShownCall]:
    """Map ledger keys to calls, sorted by key. wanted: the keys to read; None reads all calls with a prompt.

    Embedding calls, which have no prompt, would make the page too large.
    """
    columns = [field.name for field in fields(ShownCall)]
    calls: dict[str, ShownCall] = {}
    for path in paths:
        # Artifacts of earlier versions lack newer columns.
        found = pq.read_schema(path).names
        for record in pq.read_table(path, columns=[name for name in columns if name in found]).to_pylist():
            if record["id"] in wanted if wanted is not None else record["prompt"]:
                calls[record["id"]] = ShownCall(**{**record, "messages": json.loads(record["messages"])})
    return dict(sorted(calls.items()))


def derive_shown_calls(calls: Mapping[str, ShownCall], *artifacts: str) -> Derivation:
    """Return the derivation of the number of calls. artifacts: stems of the calls artifacts."""
    prompts = tuple(sorted({call.prompt for call in calls.values()}))
    rows = tuple(Selection(f"{name}.calls", {"prompt": prompts}) for name in artifacts)
    return Derivation("count", rows, once=True)
