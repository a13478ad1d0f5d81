"""Use past runs on all items to choose a nightly run's subset, and to forecast the scores of all items."""

from __future__ import annotations

import filecmp
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from flows.comparing.places import EvaluatedStage, read_night
from flows.discovery import find_section_of
from flows.night_settings import EvaluatedEntry, find_evaluation, read_nightly
from flows.nights.history import list_past, read_history
from flows.nights.once import read_unfinished
from flows.nights.preparation import share_cache, write_params
from flows.run.binding import name_files
from flows.run.node import Node
from flows.settings import get_section, load_params
from tasks.errors import BadInput
from tasks.judging.comparison import Case, ScoredSystem, collect_cases
from tasks.judging.night_forecast import (
    PartForecast,
    PartTest,
    PartWorth,
    SeriesName,
    correct_forecasts,
    forecast_series,
)
from tasks.judging.night_subset import (
    NightSubset,
    PartError,
    check_part,
    count_part,
    expect_scores,
    find_chances,
    order_items,
    weigh_items,
    weigh_parts,
)
from tasks.judging.nights import Night
from tasks.scoring.metric import FloatArray, IntArray


@dataclass(frozen=True)
class EntryPlan:
    """An entry for which a nightly run evaluates only a subset of the items.

    `entry`: section and key of the entry. `asks`: name of the stage argument that receives the items. `file`:
    the items artifact of the last run that evaluated all items. `ids`: the ids of all items. `order`: the
    result of `order_items`. `series`: system and metric of each series in `past`. `past`: scores of past
    runs, shape (series, runs, items).
    """

    entry: tuple[str, str]
    asks: str
    file: Path
    ids: tuple[str, ...]
    order: IntArray
    series: tuple[SeriesName, ...]
    past: FloatArray
    subset: NightSubset

    @property
    def name(self) -> str:
        """The full name of the entry."""
        return ".".join(self.entry)

    @property
    def metrics(self) -> list[str]:
        """The metric of each series."""
        return [name.metric for name in self.series]

    @cached_property
    def chances(self) -> FloatArray:
        """Each item's probability of being in a given part, shape (items,)."""
        return find_chances(
            weigh_items(self.past, self.metrics), count_part(len(self.ids), self.subset.share)
        )

    @cached_property
    def error(self) -> PartError:
        """The error of forecasts from one part, measured on past nightly runs."""
        return check_part(self.past, self.metrics, self.order, self.subset.share, self.subset.seed)

    def weigh(self, first: int, parts: int) -> FloatArray:
        """Return the weights of the items in the given parts; items outside the parts have weight 0."""
        return weigh_parts(self.chances, self.order, first, parts, self.subset.seed)

    def list_items(self, first: int, parts: int) -> list[str]:
        """List the ids of the items in the given parts, sorted."""
        weights = self.weigh(first, parts)
        return sorted(item for item, weight in zip(self.ids, weights, strict=True) if weight > 0)

    def forecast(
        self, scored_systems: Iterable[ScoredSystem], first: int, test: PartTest
    ) -> list[PartForecast]:
        """Forecast every metric over all items, with uncorrected p-values."""
        now, expected = read_scores(scored_systems, self.series, self.ids), expect_scores(self.past)
        weights, past = self.weigh(first, test.parts), self.past
        return [
            forecast_series(
                self.entry,
                name,
                now[place],
                expected[place],
                weights,
                self._find_worth(place),
                test,
            )
            for place, name in enumerate(self.series)
            if not np.isnan(past[place]).all()
        ]

    def _find_worth(self, place: int) -> PartWorth:
        past = self.past[place]
        reach, results = np.nanmax(past) - np.nanmin(past), int(np.count_nonzero(~np.isnan(past)))
        return PartWorth(
            float(self.error.spread[place]), float(self.error.error[place]), float(reach), results
        )


@dataclass(frozen=True)
class NightPlan:
    """The plan of a nightly run on a subset: `parts` parts of each entry, starting with part `first`."""

    entries: tuple[EntryPlan, ...]
    first: int
    parts: int
    subset: NightSubset
    nights: tuple[str, ...]
    """Labels of the past nightly runs on all items that the plan is based on, oldest first."""

    @property
    def items(self) -> dict[str, list[str]]:
        """Entry -> ids of the items to evaluate, in the format of `evaluation.items`."""
        return {plan.name: plan.list_items(self.first, self.parts) for plan in self.entries}

    def forecast(self, scored_systems: Sequence[ScoredSystem]) -> tuple[PartForecast, ...]:
        """Forecast every metric over all items; p-values are Holm-corrected across all metrics."""
        test = PartTest(self.parts, self.subset.near, sum(len(plan.series) for plan in self.entries))
        found: list[PartForecast] = []
        for plan in self.entries:
            of_entry = [
                scored_system
                for scored_system in scored_systems
                if (scored_system.section, scored_system.entry) == plan.entry
            ]
            found += plan.forecast(of_entry, self.first, test)
        return correct_forecasts(found)

    def find_changed(self, root: Path, params: Mapping[str, Any], nodes: Sequence[Node]) -> str:
        """Return an entry whose items changed since the last nightly run on all items; '' if none changed."""
        for plan in self.entries:
            section, key = plan.entry
            files = [
                name_files(node, params)
                for node in nodes
                if node.key == key and find_section_of(node.stage) == section
            ]
            paths = {named[plan.asks] for named in files if plan.asks in named}
            # Without a stage that reads the items, nothing shows that the items are unchanged.
            if not paths or not all(filecmp.cmp(root / path, plan.file, shallow=False) for path in paths):
                return plan.name
        return ""


@dataclass(frozen=True)
class WholeNight:
    """A plan to evaluate all items. why: the reason; empty if no subset is configured."""

    why: str = ""


def prepare_night(home: Path, root: Path, label: str) -> NightPlan | WholeNight:
    """Plan a nightly run, and prepare its worktree's parameters and DVC cache; return the plan."""
    params = load_params(home)
    nightly, begun = read_nightly(params), read_unfinished(home)
    evaluations = [find_evaluation(params, name) for name in nightly.assessments]
    parts, why = (begun.parts, begun.why) if begun is not None and begun.label == label else (1, "")
    plan: NightPlan | WholeNight = WholeNight(why if nightly.subset else "")
    if parts:
        past = list_past(read_history(home), label)
        plan = plan_night(home, params, evaluations, nightly.subset, past, parts)
        if why and isinstance(plan, WholeNight):
            plan = WholeNight(why)  # keep the reason: several parts of few items may contain all items
    write_params(home, root, label, plan.items if isinstance(plan, NightPlan) else None)
    share_cache(home, root)
    return plan


def plan_night(
    home: Path,
    params: Mapping[str, Any],
    evaluations: Sequence[EvaluatedEntry],
    subset: NightSubset | None,
    history: Sequence[Night],
    parts: int,
) -> NightPlan | WholeNight:
    """Plan a nightly run from earlier nightly runs, oldest first; the same history gives the same plan.

    `parts`: number of parts to evaluate. The run evaluates all items in these cases:
    - `subset` is None.
    - fewer than `subset.nights` earlier runs evaluated all items.
    - an entry cannot be planned from the last `subset.nights` runs on all items (see `plan_entry`).
    - none of the last `subset.every` - 1 runs is an accepted run on all items.
    - no entry has enough items to evaluate only a part.

    The plan ignores all runs before the last run that a person accepted despite its alarms.
    """
    if subset is None:
        return WholeNight()
    past, since = list_whole(history)
    if len(past) < subset.nights:
        return WholeNight(f"one of the first {subset.nights} whole nights")
    if since + 1 >= subset.every:
        return WholeNight(f"one in {subset.every} nights asks all items")
    chosen = [
        evaluation
        for evaluation in evaluations
        if evaluation.scope.asks
        and not (get_section(params, f"{evaluation.scope.over}.{evaluation.key}") or {}).get(
            evaluation.scope.asks_all_with
        )
    ]
    labels = tuple(night.label for night in past[-subset.nights :])
    recorded = [_read_stages(home, label) for label in labels]
    plans = [plan_entry(evaluation, recorded, subset) for evaluation in chosen]
    if not all(plans):
        return WholeNight(f"the last {subset.nights} whole nights were not recorded on the same items")
    small = [
        plan for plan in plans if plan and len(plan.ids) <= count_part(len(plan.ids), subset.share) * parts
    ]
    kept = tuple(plan for plan in plans if plan and plan not in small)
    if not kept:
        return WholeNight("no entry has enough items to ask only a part of them")
    return NightPlan(kept, since, parts, subset, labels)


def list_whole(history: Sequence[Night]) -> tuple[list[Night], int]:
    """List the nightly runs on all items that a plan may use, and count the runs after the last of them.

    The list excludes all runs before the last run that was accepted despite its alarms, since the systems
    have changed.
    """
    finished = [night for night in history if night.state != "unfinished"]
    places = [place for place, night in enumerate(finished) if night.is_baseline]
    begun = next((place for place in reversed(places) if finished[place].alarms), 0)
    past = [finished[place] for place in places if place >= begun]
    return past, len(finished) - 1 - places[-1] if places else 0


def plan_entry(
    evaluation: EvaluatedEntry,
    recorded: Sequence[Mapping[tuple[str, str], EvaluatedStage]],
    subset: NightSubset,
) -> EntryPlan | None:
    """Plan an entry from past runs, oldest first.

    Return None if a run lacks the entry, if the runs' items differ, or if DVC's cache lacks an artifact.
    """
    scope, entry = evaluation.scope, (evaluation.scope.over, evaluation.key)
    stages = [stages[entry] for stages in recorded if entry in stages]
    if len(stages) < len(recorded):
        return None
    try:
        files = [stage.find(scope.asks) for stage in stages]
        nights = [stage.read_scored_systems("") for stage in stages]
    except BadInput:  # an artifact is not in DVC's cache
        return None
    if len(set(files)) > 1:
        return None
    cases = {
        case: found for scored_system in nights[-1] for case, found in collect_cases(scored_system).items()
    }
    ids = tuple(sorted(cases))
    series = tuple(
        SeriesName(scored_system.system, metric)
        for scored_system in nights[-1]
        for metric in dict.fromkeys(
            name for case in collect_cases(scored_system).values() for name in case.values
        )
    )
    strata = _list_strata(files[-1], scope.template, cases, ids)
    past = np.stack([read_scores(scored_systems, series, ids) for scored_systems in nights], axis=1)
    return EntryPlan(
        entry, scope.asks, files[-1], ids, order_items(ids, strata, subset.seed), series, past, subset
    )


def read_scores(
    scored_systems: Iterable[ScoredSystem], series: Sequence[SeriesName], ids: Sequence[str]
) -> FloatArray:
    """Read the scores of items, shape (series, items); missing scores are NaN."""
    cases = {scored_system.system: collect_cases(scored_system) for scored_system in scored_systems}
    scores = [[_score(cases.get(name.system, {}).get(item), name.metric) for item in ids] for name in series]
    return np.array(scores, dtype=np.float64).reshape(len(series), len(ids))


def _score(case: Case | None, metric: str) -> float:
    score = case.score(metric) if case is not None else None
    return float("nan") if score is None else score


def _list_strata(
    file: Path, template: str, cases: Mapping[str, Case], ids: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return each item's stratum: (template, group), or (group,) for an item without a template."""
    templates: dict[str, str] = {}
    if template:
        table = pq.read_table(file, columns=["id", template])
        templates = dict(zip(table["id"].to_pylist(), map(str, table[template].to_pylist()), strict=True))
    return [(*([templates[item]] if item in templates else []), cases[item].group) for item in ids]


def _read_stages(home: Path, label: str) -> dict[tuple[str, str], EvaluatedStage]:
    place = read_night(home, label)
    return {} if place is None else {(stage.scope.over, stage.key): stage for stage in place.stages}
