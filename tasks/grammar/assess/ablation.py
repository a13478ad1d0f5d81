"""Documents withheld on purpose, and how well the groups that lost theirs are found again as gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import make_id


class Withheld(BaseModel):
    """`assessments.<name>.withheld` in params.yaml: a seeded share of the groups loses its documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    share: float = Field(gt=0, lt=1)
    seed: int = 0


@dataclass(frozen=True)
class Plant:
    """What was withheld. planted: groups that lost all their true documents, chosen or since they share them.

    touched: groups that lost some; they are neither gaps nor intact, and no diagnosis is held against them.
    """

    documents: frozenset[str]
    planted: frozenset[str]
    touched: frozenset[str]


def plant_gaps(true: Mapping[str, Iterable[str] | None], withheld: Withheld) -> Plant:
    """Choose groups by seed and withhold their true documents. true: group -> ids, None where not known.

    Only groups with known true documents can be chosen; at least one is.
    """
    known = {group: frozenset(ids) for group, ids in true.items() if ids}
    ordered = sorted(known, key=lambda group: make_id("withheld", withheld.seed, group))
    chosen = ordered[: max(1, round(withheld.share * len(ordered)))]
    documents = frozenset[str]().union(*(known[group] for group in chosen))
    planted = frozenset(group for group, ids in known.items() if ids <= documents)
    touched = frozenset(group for group, ids in known.items() if ids & documents) - planted
    return Plant(documents, planted, touched)


@dataclass(frozen=True)
class Diagnosis:
    """Gap groups against planted ones. found: planted and called a gap; called, planted: groups in all."""

    found: int
    called: int
    planted: int

    @property
    def precision(self) -> float | None:
        """Share of the groups called gaps that were planted."""
        return self.found / self.called if self.called else None

    @property
    def recall(self) -> float | None:
        """Share of the planted groups that were called gaps."""
        return self.found / self.planted if self.planted else None


def diagnose(plant: Plant, scored: Iterable[str], gaps: Iterable[str]) -> Diagnosis:
    """Compare gap groups with planted ones, among groups that have a scored row."""
    judged = frozenset(scored) - plant.touched
    called = frozenset(gaps) & judged
    planted = plant.planted & judged
    return Diagnosis(len(called & planted), len(called), len(planted))
