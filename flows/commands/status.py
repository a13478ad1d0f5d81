"""Implement `benchloom status`: show fresh, stale, missing and failed artifacts, and why."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from flows.commands.cli_columns import join_reasons, print_columns, print_presets
from flows.commands.cli_recorder import open_recorder
from flows.discovery import find_flow_of, find_section_of
from flows.presets import list_chosen
from flows.run.node import Node
from flows.run.outcomes import find_last_time, load_outcome
from flows.run.record.dvc_boundary import AGAIN
from flows.run.record.path_marks import mark_path
from flows.run.record.recorder import Recorder
from flows.run.selection import explain_nothing, select_matches
from flows.settings import find_project
from tasks.console import CleanConsole
from tasks.errors import LockHeld
from tasks.files import write_text

KEPT_COUNTS = ".benchloom/rows.json"
OWN = "own"
"""Name of the group of stages that the user added and no flow declares."""


@dataclass(frozen=True)
class StageStatus:
    """The state of one stage.

    rows: number of rows of the main artifact; None if the artifact is not Parquet.
    """

    stage: str
    state: str
    """Fresh, stale, missing, failed, running (in another process), or waiting for a running stage."""
    why: tuple[str, ...]
    artifact: str
    rows: int | None
    dropped: dict[str, int]
    last_run: str
    again: str
    """The command that makes the stage fresh; empty if the stage is fresh or another process works on it."""


@dataclass(frozen=True)
class StageGroup:
    """The group in which stages are counted: a flow and an entry of params.yaml."""

    flow: str
    section: str = ""
    key: str = ""

    def describe(self) -> str:
        """Return the entry's name as in params.yaml: `databases.films`."""
        return f"{self.section}.{self.key}" if self.section else self.key or "sample"


def status_command(targets: Sequence[str] = (), *, every: bool = False, as_json: bool) -> int:
    """Run `benchloom status`; return the exit code. Raises BadInput for an unknown target."""
    root = find_project()
    os.chdir(root)
    recorder = open_recorder(root)
    try:
        names = select_matches(recorder.nodes, targets)
        counts = KeptCounts(root)
        statuses = {name: find_stage_status(recorder, recorder.nodes[name], counts) for name in names}
        counts.keep()
        entries = {name: find_entry(recorder.nodes[name]) for name in names}
        chosen = list_chosen(recorder.graph.params.written, {entry.flow for entry in entries.values()})
    finally:
        recorder.close()
    if as_json:
        listed = [asdict(stage_status) for stage_status in statuses.values()]
        print(json.dumps(listed, indent=1, ensure_ascii=False))
    else:
        print_statuses(root, statuses, entries, targets, every=every)
        print_presets(chosen)
    return 0


def find_entry(node: Node) -> StageGroup:
    """Return the group in which a stage is counted."""
    flow = find_flow_of(node.stage)
    if flow is None:
        return StageGroup(OWN, key=node.name.partition("@")[2])
    return StageGroup(flow.name, find_section_of(node.stage), node.key)


def find_stage_status(recorder: Recorder, node: Node, counts: KeptCounts) -> StageStatus:
    """Determine the state of a stage."""
    last = load_outcome(recorder.root, node.name)
    missing = [out for out in node.outs if not (recorder.root / out).exists()]
    held = ""
    try:
        why = tuple(recorder.explain(node.name, patience_s=0))
    except LockHeld as error:
        said = str(error).removeprefix(f"{node.name}: ").removesuffix(f"; {AGAIN}")
        why, held = (said,), "running" if recorder.is_running(node.name) else "waiting"
    stale = bool(why)
    state = held or ("missing" if missing else "stale" if stale else "fresh")
    if state in ("missing", "stale") and last is not None and last.state == "failed":
        state, why = "failed", (last.error, *why)
    return StageStatus(
        stage=node.name,
        state=state,
        why=why,
        artifact=node.outs[0] if node.outs else "",
        rows=counts.count(node),
        dropped=dict(last.dropped) if last is not None else {},
        last_run=f"{last.state}, {last.seconds:.1f} s" if last is not None else "",
        again=f"benchloom run {node.name}" if stale and not held else "",
    )


class KeptCounts:
    """Counts the rows of artifacts, and caches each count in a file until the artifact changes.

    Counts are cached because importing the library that reads Parquet takes longer than the rest of `status`.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._kept = root, root / KEPT_COUNTS
        try:
            kept = json.loads(self._kept.read_bytes())
        except (OSError, ValueError):
            kept = {}
        self._known: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self._found: dict[str, Any] = {}

    def count(self, node: Node) -> int | None:
        """Count the rows of a stage's main artifact; None if the artifact is missing or not Parquet."""
        path = self._root / node.artifact
        if not node.artifact.endswith(".parquet") or not path.is_file():
            return None
        # JSON stores tuples as lists.
        mark = [list(part) for part in mark_path(path) or ()]
        known = self._known.get(node.artifact)
        if not isinstance(known, list) or known[:1] != [mark] or not isinstance(known[-1], int):
            from tasks.artifacts.parquet import count_rows

            known = [mark, count_rows(path)]
        self._found[node.artifact] = known
        return int(known[-1])

    def keep(self) -> None:
        """Store the counts if any count is new."""
        if any(self._known.get(path) != known for path, known in self._found.items()):
            with suppress(OSError):
                write_text(self._kept, json.dumps({**self._known, **self._found}))


def print_statuses(
    root: Path,
    statuses: Mapping[str, StageStatus],
    entries: Mapping[str, StageGroup],
    targets: Sequence[str],
    *,
    every: bool,
) -> None:
    """Print a line per entry, then the stages that are not fresh, and the command that makes them fresh.

    `every`: also print fresh stages.
    """
    console = CleanConsole()
    groups = defaultdict[StageGroup, list[StageStatus]](list)
    for name, stage_status in statuses.items():
        groups[entries[name]].append(stage_status)
    if not groups:
        console.print(f"No stages: {explain_nothing()}", soft_wrap=True)
        return
    ordered = sorted(groups.items(), key=lambda item: (item[0].flow == OWN, item[0].flow, item[0].section))
    print_columns(console, [describe_entry(root, entry, group) for entry, group in ordered])
    shown = [
        stage_status
        for _, group in ordered
        for stage_status in group
        if every or (stage_status.state != "fresh" and not is_untouched(stage_status))
    ]
    if shown:
        console.print()
        print_columns(console, list(map(describe_stage_status, shown)), indent="  ")
    waiting = Counter(
        stage_status.state for stage_status in statuses.values() if stage_status.state != "fresh"
    )
    if not waiting:
        console.print("All stages are fresh.")
        return
    counts = ", ".join(f"{count} {state}" for state, count in waiting.items())
    again = " ".join(["benchloom run", *targets])
    console.print(
        f"{waiting.total()} of {len(statuses)} stages are not fresh ({counts}); to run them: {again}",
        soft_wrap=True,
    )


def is_untouched(stage_status: StageStatus) -> bool:
    """Return whether a stage has never run. Such a stage is only counted, in the line of its entry."""
    return stage_status.state == "missing" and not stage_status.last_run


def describe_entry(root: Path, entry: StageGroup, group: Sequence[StageStatus]) -> tuple[str, ...]:
    """Return the cells of an entry's line, such as its fresh stages, row count and last run."""
    fresh = sum(stage_status.state == "fresh" for stage_status in group)
    untouched = sum(map(is_untouched, group))
    last = max(
        filter(None, (find_last_time(root, stage_status.stage) for stage_status in group)), default=None
    )
    when = datetime.fromtimestamp(last).strftime("%Y-%m-%d %H:%M") if last else ""  # noqa: DTZ006 - local
    parts = (
        f"{untouched} never run" if untouched else "",
        f"{sum(stage_status.rows or 0 for stage_status in group):,} rows",
        f"last run {when}" if when else "",
    )
    return entry.flow, entry.describe(), f"{fresh} of {len(group)} fresh", "; ".join(filter(None, parts))


def describe_stage_status(stage_status: StageStatus) -> tuple[str, ...]:
    """Format a stage's line."""
    drops = ", ".join(f"{count} {reason}" for reason, count in stage_status.dropped.items())
    parts = (
        join_reasons(stage_status.why),
        f"{stage_status.rows:,} rows" if stage_status.rows is not None and not stage_status.why else "",
        f"dropped {drops}" if drops and not stage_status.why else "",
        stage_status.last_run if not stage_status.why else "",
    )
    return stage_status.stage, stage_status.state, "; ".join(filter(None, parts))
