"""Count the kept and dropped rows of each stage, for a dataset's page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.artifacts.statistics import (
    ArtifactStatistics,
    CallTotals,
    name_beside,
    read_statistics,
    sum_calls,
)
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection


@dataclass(frozen=True)
class StageYield:
    """A stage's artifact with its statistics and dropped rows."""

    artifact: ArtifactStatistics
    dropped: Sequence[Dropped]

    @property
    def tally(self) -> CallTotals:
        """The totals of the stage's model calls."""
        return sum_calls(self.artifact.calls)

    @property
    def reasons(self) -> Mapping[str, Sequence[Dropped]]:
        """The dropped rows, grouped by reason; the reasons are sorted."""
        reasons: defaultdict[str, list[Dropped]] = defaultdict(list)
        for row in self.dropped:
            reasons[row.reason].append(row)
        return dict(sorted(reasons.items()))


def read_yield(artifact: Path) -> StageYield:
    """Read a stage's statistics and dropped rows from the artifact and accompanying files."""
    dropped = name_beside(artifact, "dropped")
    return StageYield(read_statistics(artifact), read_rows(dropped, Dropped) if dropped.is_file() else [])


def derive_dropped(stages: Iterable[StageYield]) -> Derivation:
    """Return the derivation of the total number of rows dropped by the given stages."""
    names = [stage.artifact.name for stage in stages if stage.dropped]
    return Derivation("count", tuple(Selection(f"{name}.dropped") for name in names))


def derive_calls(stages: Iterable[StageYield]) -> Derivation:
    """Return the derivation of the total number of calls by the given stages; shared calls count once."""
    names = [stage.artifact.name for stage in stages if stage.artifact.calls]
    return Derivation("count", tuple(Selection(f"{name}.calls") for name in names), once=True)
