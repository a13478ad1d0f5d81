"""What must hold of each item of a stream by itself; only the stage `contracts` imports this."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from tasks.artifacts.contracts import Record, RowRule


def find_gap(record: Record) -> str:
    """Name what an item lacks; empty if it is whole."""
    missing = [name for name in ("text", "memory_key", "gold") if not str(record[name]).strip()]
    if missing:
        return f"it has no {missing[0]}"
    try:
        details = json.loads(record["details"])
    except (ValueError, RecursionError) as error:
        return f"its details are no JSON: {error}"
    return "" if isinstance(details, dict) else "its details are no JSON object"


def find_way_out(path: str) -> str:
    """Say that a path is absolute or leads above its start; empty if it does not."""
    pure = PurePosixPath(path)
    return f"{path} lies outside" if pure.is_absolute() or ".." in pure.parts else ""


EACH_ITEM = (
    RowRule(
        "askable",
        "It has a text, a key to be found by, a gold answer, and details that are a JSON object.",
        ("text", "memory_key", "gold", "details"),
        find_gap,
    ),
    RowRule(
        "file_inside",
        "The file that it names lies in the folder of the datasets.",
        ("file",),
        lambda record: find_way_out(str(record["file"])),
    ),
)
