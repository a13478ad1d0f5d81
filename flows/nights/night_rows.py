"""Determine the rows behind a nightly run's figures: rows of this run, and of an earlier nightly run.

An artifact of the earlier run has the path `data/nightly/LABEL/tree/` followed by its path in the project.
Lineage links the earlier run's artifacts to these paths (flows/nights/recorded.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flows.night_settings import FOLDER
from tasks.judging.canaries import CanaryRow
from tasks.judging.comparison import ScoredSystem, find_altered
from tasks.judging.nights import Night, NightSeries
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection

TREE = "tree"
PAIRED = ("n_pairs", "clusters", "difference", "low", "high", "p_value", "adjusted", "fell", "rose")
"""Figures that are computed from the rows of both nightly runs."""
Ids = Sequence[str]


@dataclass(frozen=True)
class ScoredArtifact:
    """An artifact whose rows are scored.

    `artifact`: the artifact's path without `.parquet`. `column`: the column with the row ids that the scores
    use. `values`: all values of that column.
    """

    artifact: str
    column: str
    values: frozenset[str]

    def select(self, ids: Iterable[str]) -> Selection:
        """Select the rows of the given scores; the selection has no condition if it contains all rows."""
        chosen = set(ids)
        return Selection(self.artifact, {} if chosen == self.values else {self.column: tuple(sorted(chosen))})


def find_rows(path: Path, artifact: str, ids: Iterable[str]) -> ScoredArtifact | None:
    """Return an artifact with the column that contains all ids, preferably `id`; None if no column does.

    `path`: the artifact's file. `artifact`: the artifact's name in selections.
    """
    wanted = set(ids)
    schema = pq.read_schema(path)
    texts = [field.name for field in schema if field.type == pa.string()]
    for name in sorted(texts, key=lambda name: name != "id"):
        values = frozenset(pq.read_table(path, columns=[name])[name].to_pylist())
        if wanted <= values:
            return ScoredArtifact(artifact, name, values)
    return None


def place_earlier(label: str, path: str) -> str:
    """Return the path of an earlier nightly run's artifact in the record of a later nightly run."""
    return f"{FOLDER}/{label}/{TREE}/{path}"


def derive_series(
    place: str,
    series: NightSeries,
    now: tuple[ScoredSystem, ScoredArtifact],
    before: tuple[ScoredSystem, ScoredArtifact] | None,
) -> dict[str, Derivation]:
    """Return the derivations of a metric's figures. place: the metric's JSON pointer.

    `now`: the system's answers and the artifact with the answers' rows. `before`: the accepted run's answers
    and artifact; None if the accepted run lacks the system.
    """
    scored_system, rows = now
    scores = _read_scores(scored_system, series.metric)
    known = [row for row, _, value in scores if value is not None]
    derived = {
        f"{place}/n": _count([row for row, _, _ in scores], rows, series.n),
        f"{place}/n_scored": _count(known, rows, series.n_scored),
        f"{place}/mean": Derivation("mean of the cases' scores", (rows.select(known),)),
    }
    altered = find_altered(before[0], scored_system) if before else frozenset()
    own, earlier = _pair(
        [score for score in scores if score[1] not in altered],
        _read_scores(before[0], series.metric) if before else [],
    )
    parts = (rows.select(own), *((before[1].select(earlier),) if before else ())) if own else ()
    derived |= {f"{place}/{name}": Derivation(f"{name} of the pairs", parts) for name in PAIRED}
    derived[f"{place}/now"] = Derivation("mean of the pairs", parts[:1])
    derived[f"{place}/before"] = Derivation("mean of the pairs", parts[1:])
    return derived


def derive_judge(
    place: str,
    now: tuple[Sequence[CanaryRow], ScoredArtifact],
    before: tuple[Sequence[CanaryRow], ScoredArtifact],
) -> dict[str, Derivation]:
    """Return the derivations of a judge's figures on two nightly runs' canaries.

    place: JSON pointer of the judge.
    """
    both = {row.id for row in now[0]} & {row.id for row in before[0]}
    own, earlier = now[1].select(both), before[1].select(both)
    words = {"n": (own,), "right": (own,), "before": (earlier,)}
    parts = words | dict.fromkeys(("lost", "won", "p_value"), (own, earlier))
    return {f"{place}/{name}": Derivation(f"{name} of the canaries", rows) for name, rows in parts.items()}


def derive_gold(night: Night, rows: Iterable[Selection]) -> dict[str, Derivation]:
    """Return the derivation of the number of gold queries. rows: the items that have a gold query."""
    return {"/gold": Derivation("count", tuple(rows) if night.gold else ())}


Score = tuple[str, str, float | None]


def _read_scores(scored_system: ScoredSystem, metric: str) -> list[Score]:
    """Return (row, case, value) for each score of a metric."""
    scores: list[Score] = []
    for scored, answered in scored_system.answers:
        values: Mapping[str, float | None] = {answered.metric: scored.value, **answered.further}
        if metric in values:
            scores.append((scored.id, answered.case, values[metric]))
    return scores


def _pair(now: Sequence[Score], before: Sequence[Score]) -> tuple[Ids, Ids]:
    """Return the row ids of this run and of the earlier run, for cases with a score in both runs."""
    cases = [{case for _, case, value in scores if value is not None} for scores in (now, before)]
    both = cases[0] & cases[1]
    own, earlier = ([row for row, case, _ in scores if case in both] for scores in (now, before))
    return own, earlier


def _count(ids: Ids, rows: ScoredArtifact, figure: int) -> Derivation:
    """Return the derivation of a number of cases from the rows `ids`.

    `figure`: the number of cases. The measure is `count` if each case has one row, otherwise `cases`.
    """
    return Derivation("count" if len(ids) == figure else "cases", (rows.select(ids),))
