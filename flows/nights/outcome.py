"""What a night came to: its scores against those of the last accepted night, by the flows' declarations."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.comparing.places import Place, read_night, read_workspace
from flows.comparing.strands import read_strands
from flows.discovery import list_evaluating
from flows.night_settings import EvaluatedEntry
from flows.run.binding import locate_module
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.comparison import Comparison, Strand, compare_strands
from tasks.judging.nights import (
    AlarmRule,
    Night,
    NightState,
    compare_canaries,
    judge_series,
    list_alarms,
    list_series,
    mark_drifts,
    name_by_id,
)

NAME_JUDGE = "name_judge"
"""What the module of a canaries' stage may have: of a row, which of several judges it tries."""
Entry = tuple[str, str]
"""A section of params.yaml, and a key there."""


@dataclass(frozen=True)
class NightScores:
    """The scored answers of a night's entries, and its judges' canaries."""

    strands: Sequence[Strand]
    canaries: dict[Entry, list[CanaryRow]]


def compare_night(
    home: Path,
    root: Path,
    evaluations: Iterable[EvaluatedEntry],
    label: str,
    against: str | None,
    rule: AlarmRule,
) -> tuple[Night, Comparison]:
    """Compare the night in a worktree with an accepted one. against: its label; None for the first night.

    Raises BadInput if the earlier night's branch or artifacts are gone.
    """
    entries = {(evaluation.scope.over, evaluation.key) for evaluation in evaluations}
    now = read_scores(read_workspace(root), entries)
    before = NightScores((), {})
    if against is not None:
        place = read_night(home, against)
        if place is None:
            raise BadInput(
                f"nightly/{against}",
                "is gone, the branch of the night to compare with",
                hint="git fetch brings it from where it was pushed; or `benchloom nightly accept` another",
            )
        before = read_scores(place, entries)
    earlier = {name_strand(strand): strand for strand in before.strands}
    there = {name_strand(strand) for strand in now.strands}
    pairs = [(earlier[name], own) for own in now.strands if (name := name_strand(own)) in earlier]
    comparison = compare_strands(
        pairs,
        names=(f"night {against}", f"night {label}"),
        draws=rule.draws,
        seed=rule.seed,
        alpha=rule.alpha,
    )
    changes = [
        change
        for entry, rows in now.canaries.items()
        for change in compare_canaries(entry, before.canaries.get(entry, ()), rows, find_name_judge(entry[0]))
    ]
    judges = mark_drifts(changes, rule.alpha)
    series = judge_series(list_series(now.strands), comparison, judges, rule)
    lost = sorted(".".join(filter(None, name)) for name in earlier.keys() - there)
    alarms = list_alarms(series, judges, lost, rule)
    state: NightState = "alarm" if alarms else "accepted"
    return Night(label, against, state, tuple(alarms), tuple(series), tuple(judges)), comparison


def read_scores(place: Place, entries: Iterable[Entry]) -> NightScores:
    """Read the scores of entries where they lie."""
    wanted = set(entries)
    strands: list[Strand] = []
    canaries: dict[Entry, list[CanaryRow]] = {}
    for stage in place.stages:
        entry = (stage.scope.over, stage.key)
        if entry in wanted:
            strands += read_strands(stage, place.label)
            if stage.find_canaries is not None:
                canaries[entry] = read_rows(stage.find_canaries(), CanaryRow)
    return NightScores(strands, canaries)


def find_name_judge(section: str) -> Callable[[CanaryRow], str]:
    """Find what tells the judges of a section's canaries apart: a function of its stage's module, or ids."""
    canaries = next(scope.canaries for scope in list_evaluating() if scope.over == section)
    stage = importlib.import_module(locate_module(canaries))
    found: Callable[[CanaryRow], str] = getattr(stage, NAME_JUDGE, name_by_id)
    return found


def name_strand(strand: Strand) -> tuple[str, str, str]:
    """Name a strand so that it is the same in every night."""
    return strand.section, strand.entry, strand.system
