"""`benchloom status`: each artifact, whether it is fresh, and what its last run came to."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from flows.run.node import Node
from flows.run.outcomes import load_outcome
from flows.run.recorder import Recorder
from flows.run.selection import order_nodes
from flows.settings import find_project
from tasks.errors import LockHeld


@dataclass(frozen=True)
class Standing:
    """Where one stage stands. rows: of its main artifact, where that is Parquet."""

    stage: str
    state: str
    """fresh, stale, missing, failed, or running in another process"""
    why: tuple[str, ...]
    artifact: str
    rows: int | None
    dropped: dict[str, int]
    last_run: str
    again: str
    """The command that mends it, where something is to be mended."""


def status_command(*, as_json: bool) -> int:
    """Carry out `benchloom status`; returns the exit code."""
    root = find_project()
    os.chdir(root)
    recorder = Recorder(root)
    standings = [find_standing(recorder, recorder.nodes[name]) for name in order_nodes(recorder.nodes)]
    recorder.close()
    if as_json:
        print(json.dumps([asdict(standing) for standing in standings], indent=1, ensure_ascii=False))
    else:
        print_standings(standings)
    return 0


def find_standing(recorder: Recorder, node: Node) -> Standing:
    """Find out where a stage stands."""
    last = load_outcome(recorder.root, node.name)
    missing = [out for out in node.outs if not (recorder.root / out).exists()]
    try:
        why = tuple(recorder.explain(node.name, patience_s=0))
    except LockHeld as error:
        why, running = (str(error),), True
    else:
        running = False
    stale = bool(why)
    state = "running" if running else "missing" if missing else "stale" if stale else "fresh"
    if state in ("missing", "stale") and last is not None and last.state == "failed":
        state, why = "failed", (last.error, *why)
    return Standing(
        stage=node.name,
        state=state,
        why=why,
        artifact=node.outs[0] if node.outs else "",
        rows=count_artifact_rows(recorder.root, node),
        dropped=dict(last.dropped) if last is not None else {},
        last_run=f"{last.state}, {last.seconds:.1f} s" if last is not None else "",
        again=f"benchloom run {node.name}" if stale and not running else "",
    )


def count_artifact_rows(root: Path, node: Node) -> int | None:
    """Count the rows of a stage's main artifact from its footer."""
    for out in node.outs:
        if out.endswith(".parquet") and out.count(".") == 1 and (root / out).is_file():
            from tasks.artifacts.parquet import count_rows

            return count_rows(root / out)
    return None


def print_standings(standings: list[Standing]) -> None:
    """Print the table for people."""
    from rich.console import Console
    from rich.table import Column, Table

    console = Console()
    table = Table(Column("stage", no_wrap=True), "state", "rows", "dropped", "last run", "why")
    for each in standings:
        drops = ", ".join(f"{count} {reason}" for reason, count in each.dropped.items())
        table.add_row(
            each.stage,
            each.state,
            "" if each.rows is None else str(each.rows),
            drops,
            each.last_run,
            "; ".join(each.why[:3]) + (f"; and {len(each.why) - 3} more" if len(each.why) > 3 else ""),
        )
    console.print(table)
    stale = [each for each in standings if each.state != "fresh"]
    console.print(f"{len(stale)} of {len(standings)} are not fresh: benchloom run" if stale else "All fresh.")
