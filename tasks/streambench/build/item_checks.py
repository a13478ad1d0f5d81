"""What makes an item one that cannot be asked, by its kind: no run could ever give it a bit."""

from __future__ import annotations

from tasks.databases.clock import find_clock
from tasks.scoring.ddxplus import LABELS
from tasks.sources.stream_dataset import DatasetItem


def find_problem(kind: str, item: DatasetItem) -> tuple[str, str] | None:
    """Find (reason, detail) why an item cannot be asked; None where it can. Other kinds are not looked at."""
    if kind in {"sql", "hotpotqa"} and not item.gold.strip():
        return "no_gold", "the gold answer is empty"
    if kind == "sql" and (word := find_clock(item.gold, "sqlite")):
        return "clock", f"its gold query hangs on the clock, the session or chance: {word[:40]}"
    if kind == "ds1000" and not isinstance(item.details.get("code_context"), str):
        return "no_details", "details have no code_context"
    if kind == "toolbench" and not (
        isinstance(item.details.get("api"), str) and isinstance(item.details.get("arguments"), dict)
    ):
        return "no_details", "details have no api with arguments"
    if kind == "ddxplus" and item.gold not in {str(label) for label in range(LABELS)}:
        return "bad_gold", f"gold is {item.gold[:40]!r}; a label from 0 to {LABELS - 1} is wanted"
    return None
