"""Describe a nightly run on a subset: the items, the calls, and the rows behind the forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.comparing.places import open_cache, parse_yaml
from flows.lineage.git import Git
from flows.lineage.lock import read_stage
from flows.night_settings import BRANCH
from flows.nights.night_rows import ScoredArtifact, place_earlier
from flows.nights.subset import NightPlan
from flows.run.node import CALLS, Node
from flows.run.record.lock_file import LOCK
from flows.stage import EVALUATION
from tasks.artifacts.parquet import count_rows
from tasks.judging.comparison import ScoredSystem
from tasks.judging.night_forecast import NightPart
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection

PARQUET = ".parquet"


@dataclass(frozen=True)
class AskedPart:
    """The subset of the items that a nightly run evaluated.

    `against`: label of the last accepted nightly run that evaluated all items. `calls`: path of a calls
    artifact -> number of its rows in this run. `whole_calls`: path of a calls artifact -> number of its rows
    in the run `against`.
    """

    plan: NightPlan
    against: str
    calls: Mapping[str, int]
    whole_calls: Mapping[str, int]

    def describe(self, scored_systems: Sequence[ScoredSystem]) -> NightPart:
        """Return a description of the evaluated subset, including its forecasts."""
        plan = self.plan
        return NightPart(
            sum(map(len, plan.items.values())),
            sum(len(entry.ids) for entry in plan.entries),
            plan.parts,
            sum(self.calls.values()),
            sum(self.whole_calls.values()),
            plan.nights,
            plan.forecast(scored_systems),
        )

    def derive(
        self, part: NightPart, rows: Mapping[tuple[str, str], ScoredArtifact]
    ) -> dict[str, Derivation]:
        """Return the rows behind each figure of the subset; the keys are JSON pointers in the run's record.

        `rows`: entry (section, key) -> the artifact with the entry's scores. Forecasts also use past nightly
        runs, but the record contains only the number of these runs, not their rows.
        """
        scored = tuple(rows[plan.entry].select(rows[plan.entry].values) for plan in self.plan.entries)
        derived = {
            "/part/n": Derivation("items asked", scored),
            "/part/of": Derivation("all items", scored),
            "/part/parts": Derivation("parts asked", scored),
            "/part/calls": Derivation("count", tuple(map(_select_calls, self.calls))),
            "/part/whole_calls": Derivation(
                "count", tuple(_select_calls(place_earlier(self.against, path)) for path in self.whole_calls)
            ),
        }
        for place, forecast in enumerate(part.forecasts):
            artifact = rows[forecast.section, forecast.entry]
            for name in ("mean", "error", "change", "p_value", "adjusted", "detectable"):
                measure = f"{name} estimated by {len(part.nights)} whole nights"
                derived[f"/part/forecasts/{place}/{name}"] = Derivation(
                    measure, (artifact.select(artifact.values),)
                )
        return derived


def count_calls(root: Path, nodes: Mapping[str, Node], names: Sequence[str]) -> dict[str, int]:
    """Count the calls that have the nightly run's label: path of a calls artifact -> number of calls."""
    outs = [out for name in names if is_asking(nodes[name]) for out in nodes[name].outs]
    return {out: count_rows(root / out) for out in outs if out.endswith(CALLS)}


def count_whole_calls(
    home: Path, label: str, nodes: Mapping[str, Node], names: Sequence[str]
) -> dict[str, int]:
    """Count an earlier nightly run's calls: path of a calls artifact -> number of calls.

    Artifacts that DVC's cache does not contain are omitted.
    """
    content = Git(home).read_file(f"refs/heads/{BRANCH}{label}", LOCK) or b""
    entries = parse_yaml(content.decode(), LOCK).get("stages") or {}
    find, counted = open_cache(home), dict[str, int]()
    for name in names:
        if is_asking(nodes[name]) and name in entries:
            for out in read_stage(name, entries[name]).outs:
                path = find(out.md5 or "") if out.path.endswith(CALLS) else None
                if path is not None and path.is_file():
                    counted[out.path] = count_rows(path)
    return counted


def is_asking(node: Node) -> bool:
    """Return whether a stage labels its calls with the nightly run; stages of baselines do not."""
    return any(key.split(".")[0] == EVALUATION for key in node.params)


def _select_calls(path: str) -> Selection:
    return Selection(path.removesuffix(PARQUET))
