"""Store the outcome of each stage's last run, outside the artifacts.

Each stage has a small JSON file in `.benchloom/stages/`, which `status` and `plan` read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from tasks.files import write_text

State = Literal["ran", "restored", "fresh", "failed", "skipped"]
DONE: frozenset[State] = frozenset({"ran", "restored", "fresh"})
"""The states of a stage whose artifacts are up to date."""


@dataclass(frozen=True)
class StageOutcome:
    """The outcome of a stage's last run, with counts of its rows, calls and tokens.

    `prompt_tokens`, `completion_tokens` and `usd` cover all calls whose answers the artifact uses, including
    answers from the ledger. `paid_tokens` and `paid_usd` cover only the calls made in this run.
    """

    stage: str
    state: State
    rows_in: int | None = None
    rows_out: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    calls_live: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    paid_tokens: int = 0
    paid_usd: float = 0.0
    seconds: float = 0.0
    error: str = ""


def save_outcome(root: Path, outcome: StageOutcome) -> None:
    """Store an outcome for `status` and `plan`."""
    write_text(_place(root, outcome.stage), json.dumps(asdict(outcome), indent=1, ensure_ascii=False))


def load_outcome(root: Path, stage: str) -> StageOutcome | None:
    """Read a stage's last outcome; None if it is missing or cannot be read."""
    try:
        return StageOutcome(**json.loads(_place(root, stage).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def find_last_time(root: Path, stage: str) -> float | None:
    """Return when a stage's last outcome was stored, in seconds since 1970; None if there is no outcome."""
    try:
        return _place(root, stage).stat().st_mtime
    except OSError:
        return None


def describe_outcome(outcome: StageOutcome) -> str:
    """Format an outcome as one line."""
    parts = []
    if outcome.rows_out is not None:
        parts.append(f"{outcome.rows_out} rows")
    if outcome.dropped:
        parts.append("dropped " + ", ".join(f"{count} {reason}" for reason, count in outcome.dropped.items()))
    if outcome.calls:
        parts.append(f"{outcome.calls} calls ({outcome.calls_live} new)")
    if outcome.paid_usd:
        parts.append(f"${outcome.paid_usd:.4f}")
    if outcome.state in ("ran", "failed"):
        parts.append(f"{outcome.seconds:.1f} s")
    if outcome.error:
        parts.append(outcome.error)
    return f"{outcome.stage:<36} {outcome.state:<9} {'; '.join(parts)}".rstrip()


def _place(root: Path, stage: str) -> Path:
    return root / ".benchloom" / "stages" / f"{stage}.json"
