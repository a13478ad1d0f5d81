"""Test whether one entry of `params.yaml` is better than each other entry, for the front page's headline."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flows.comparing.places import EvaluatedStage, read_workspace
from flows.discovery import find_flow
from flows.run.record.lock_file import LOCK
from tasks.errors import BenchloomError
from tasks.judging.comparison import ScoredSystem, compare_scored_systems

DRAWS = 2_000
"""Number of bootstrap samples; `benchloom compare` uses more, since it reports p values."""


def find_beaten(root: Path, flow: str, entry: str, others: Sequence[str]) -> dict[str, bool]:
    """Return, for every other entry, whether `entry` is significantly better on the first metric.

    The test is paired, with Holm's correction over all entries. Entries with several systems, without items
    in common with `entry`, or with missing artifacts are omitted.
    """
    if not (root / LOCK).is_file():
        return {}
    wanted = find_flow(flow)
    scopes = wanted.list_scopes() if wanted else ()
    stages = {stage.key: stage for stage in read_workspace(root).stages if stage.scope in scopes}
    scored_systems = {
        name: scored_system
        for name in (entry, *others)
        if name in stages and (scored_system := read_only_scored_system(stages[name])) is not None
    }
    best = scored_systems.pop(entry, None)
    if best is None or not scored_systems:
        return {}
    found = compare_scored_systems(
        [(scored_system, best) for scored_system in scored_systems.values()], draws=DRAWS
    )
    beaten: dict[str, bool] = {}
    for name, compared in zip(scored_systems, found.strands, strict=True):
        change = next(iter(compared.metrics), None)
        if change and change.difference is not None and change.adjusted is not None:
            beaten[name] = change.difference > 0 and change.adjusted < found.alpha
    return beaten


def read_only_scored_system(stage: EvaluatedStage) -> ScoredSystem | None:
    """Read the scored answers of a one-system entry; None for several systems or unreadable artifacts."""
    with suppress(BenchloomError):
        scored_systems = stage.read_scored_systems("workspace")
        return scored_systems[0] if len(scored_systems) == 1 else None
    return None
