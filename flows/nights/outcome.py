"""Compute the outcome of a nightly run: compare its scores with the last accepted nightly run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flows.comparing.places import Place, read_night, read_workspace
from flows.discovery import list_evaluating
from flows.night_settings import EvaluatedEntry
from flows.nights.asked import AskedPart
from flows.nights.night_rows import ScoredArtifact, derive_judge, derive_series, find_rows, place_earlier
from flows.run.evaluated import name_written
from flows.run.loading import locate_module
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.comparison import Comparison, ScoredSystem, compare_scored_systems
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
from tasks.lineage.derivation import Derivation

NAME_JUDGE = "name_judge"
"""Name of an optional function that returns the judge that a canary row tests."""
PARQUET = ".parquet"
Entry = tuple[str, str]
"""An entry of params.yaml: a section, and a key in that section."""


@dataclass(frozen=True)
class NightScores:
    """The scored answers of a nightly run's entries, and the canaries (test cases) of its judges.

    `rows`, `canary_rows`: the artifacts with the rows of answers and canaries. `place_before` changes the
    paths of an earlier run's artifacts to the paths in the later run's record.
    """

    scored_systems: Sequence[ScoredSystem]
    canaries: dict[Entry, list[CanaryRow]]
    rows: dict[Entry, ScoredArtifact] = field(default_factory=dict)
    canary_rows: dict[Entry, ScoredArtifact] = field(default_factory=dict)


def read_before(home: Path, evaluations: Iterable[EvaluatedEntry], against: str | None) -> NightScores:
    """Read the scores of the accepted nightly run that a new run is compared with.

    `against`: label of the accepted run; None returns no scores. Raises BadInput if the branch or an artifact
    of the accepted run is missing.
    """
    if against is None:
        return NightScores((), {})
    place = read_night(home, against)
    if place is None:
        raise BadInput(
            f"nightly/{against}",
            "the branch does not exist, but this nightly run must be compared with it",
            hint=(
                "get it with git fetch if it was pushed, or accept another nightly run with "
                "`benchloom nightly accept`"
            ),
        )
    return read_scores(place, list_entries(evaluations))


def compare_night(
    root: Path,
    evaluations: Iterable[EvaluatedEntry],
    label: str,
    against: str | None,
    before: NightScores,
    rule: AlarmRule,
    part: AskedPart | None = None,
) -> tuple[Night, Comparison, dict[str, Derivation]]:
    """Compare the nightly run in a worktree with an accepted run; return outcome, comparison and derivations.

    `against`: label of the accepted run; None for the first run. `before`: the accepted run's scores.
    `part`: the evaluated subset of the items; None for all items. The derivations list the rows behind the
    run's figures, by JSON pointer.
    """
    entries = list_entries(evaluations)
    now = read_scores(read_workspace(root), entries, lambda path: path.relative_to(root).as_posix())
    if against is not None:
        before = place_before(now, before, against)
    earlier = {name_scored_system(scored_system): scored_system for scored_system in before.scored_systems}
    there = {name_scored_system(scored_system) for scored_system in now.scored_systems}
    pairs = [
        (earlier[name], scored_system)
        for scored_system in now.scored_systems
        if (name := name_scored_system(scored_system)) in earlier
    ]
    comparison = compare_scored_systems(
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
    series = judge_series(list_series(now.scored_systems), comparison, judges, rule)
    lost = sorted(".".join(filter(None, name)) for name in earlier.keys() - there)
    alarms = list_alarms(series, judges, lost, rule)
    state: NightState = "alarm" if alarms else "accepted"
    found = part.describe(now.scored_systems) if part is not None else None
    night = Night(label, against, state, tuple(alarms), tuple(series), tuple(judges), part=found)
    bases = derive_night(night, now, before)
    return night, comparison, bases | (part.derive(found, now.rows) if part is not None and found else {})


def list_entries(evaluations: Iterable[EvaluatedEntry]) -> set[Entry]:
    """Return each evaluation's entry in params.yaml: its section, and its key in the section."""
    return {(evaluation.scope.over, evaluation.key) for evaluation in evaluations}


def derive_night(night: Night, now: NightScores, before: NightScores) -> dict[str, Derivation]:
    """Return the rows behind each figure of a nightly run; keys are JSON pointers in the run's record."""
    scored_systems, earlier = (
        {name_scored_system(scored_system): scored_system for scored_system in scores.scored_systems}
        for scores in (now, before)
    )
    derived: dict[str, Derivation] = {}
    for number, series in enumerate(night.series):
        name, entry = (series.section, series.entry, series.system), (series.section, series.entry)
        if entry in now.rows:
            past = (earlier[name], before.rows[entry]) if name in earlier and entry in before.rows else None
            own = (scored_systems[name], now.rows[entry])
            derived |= derive_series(f"/series/{number}", series, own, past)
    for number, judge in enumerate(night.judges):
        entry = (judge.section, judge.entry)
        tries = find_name_judge(judge.section)
        if entry in now.canary_rows and entry in before.canary_rows:
            own_rows, past_rows = (
                [row for row in scores.canaries[entry] if tries(row) == judge.judge]
                for scores in (now, before)
            )
            derived |= derive_judge(
                f"/judges/{number}",
                (own_rows, now.canary_rows[entry]),
                (past_rows, before.canary_rows[entry]),
            )
    return derived


def read_scores(
    place: Place, entries: Iterable[Entry], name: Callable[[Path], str] = lambda path: ""
) -> NightScores:
    """Read the scores of entries. name: function that returns an artifact's path in the project."""
    wanted = set(entries)
    found = NightScores([], {})
    scored_systems: list[ScoredSystem] = []
    for stage in place.stages:
        entry = (stage.scope.over, stage.key)
        if entry not in wanted:
            continue
        own = stage.read_scored_systems(place.label)
        scored_systems += own
        path = stage.find(name_written(stage.scope.evaluates))
        ids = [scored.id for scored_system in own for scored, _ in scored_system.answers]
        if rows := find_rows(path, name(path).removesuffix(PARQUET), ids):
            found.rows[entry] = rows
        if stage.find_canaries is not None:
            path = stage.find_canaries()
            found.canaries[entry] = read_rows(path, CanaryRow)
            ids = [row.id for row in found.canaries[entry]]
            if rows := find_rows(path, name(path).removesuffix(PARQUET), ids):
                found.canary_rows[entry] = rows
    return replace(found, scored_systems=scored_systems)


def place_before(now: NightScores, before: NightScores, label: str) -> NightScores:
    """Return `before` with its artifact paths replaced by the paths in the later nightly run's record."""

    def place(
        own: Mapping[Entry, ScoredArtifact], past: Mapping[Entry, ScoredArtifact]
    ) -> dict[Entry, ScoredArtifact]:
        return {
            entry: replace(rows, artifact=place_earlier(label, own[entry].artifact))
            for entry, rows in past.items()
            if entry in own
        }

    rows, canary_rows = place(now.rows, before.rows), place(now.canary_rows, before.canary_rows)
    return replace(before, rows=rows, canary_rows=canary_rows)


def find_name_judge(section: str) -> Callable[[CanaryRow], str]:
    """Return the function that names the judge of a canary row in a section.

    The function is `name_judge` in the module of the canaries' stage if it exists, else `name_by_id`.
    """
    canaries = next(scope.canaries for scope in list_evaluating() if scope.over == section)
    stage = importlib.import_module(locate_module(canaries))
    found: Callable[[CanaryRow], str] = getattr(stage, NAME_JUDGE, name_by_id)
    return found


def name_scored_system(scored_system: ScoredSystem) -> tuple[str, str, str]:
    """Return (section, entry, system), which identifies an answer set across nightly runs."""
    return scored_system.section, scored_system.entry, scored_system.system
