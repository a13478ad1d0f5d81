"""How `benchloom evaluate` evaluates a system in a flow: one declaration, in `evaluation.py` of the paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Protocol

import numpy as np

from tasks.judging.canaries import CanaryRow
from tasks.judging.comparison import FEW, Strand
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.figure_cells import DRAWS, FigureCell, leave_empty
from tasks.reports.printed import Column, Printed, Rows
from tasks.scoring.metric import MeanSample
from tasks.scoring.statistics import bootstrap, find_wilson_interval
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection

SCORES = "scores"
OwnRows = Mapping[str, Sequence[Any]]
"""The rows of an evaluation by artifact; what a stage dropped is under `<artifact>_dropped`."""


@dataclass(frozen=True)
class Measured:
    """An evaluation's figures, as figures.json holds them. failures: one line for each row without a score.

    counts: name -> how a number below `/counts` is computed; it is computed from the rows that it names.
    bases: JSON pointer of another plain number -> the rows that it was computed from. rest: beginning of a
    pointer -> the rows of all numbers below it that neither of them names.
    """

    figures: Mapping[str, object]
    failures: Sequence[str] = ()
    counts: Mapping[str, Derivation] = field(default_factory=dict)
    bases: Mapping[str, Derivation] = field(default_factory=dict)
    rest: Mapping[str, Sequence[Selection]] = field(default_factory=dict)


class ReadOwn(Protocol):
    """Reads and checks the user's dataset; usually an `ItemDataset`."""

    def __call__(self, options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
        """Read it. Raises BadInput, one line."""
        ...


MeasureRows = Callable[[OwnRows, EvaluationOptions, ReadSection], Measured]
"""Computes the figures from the rows that the stages read and wrote."""

MEASURES = (
    Printed(
        ("metric",),
        (Rows("/measures/*", ("{0}",)),),
        (Column("n", "n"), Column("without", "failed"), Column("mean", digits=3)),
        "{scores} scores, {unscored} without one",
    ),
)
"""The tables of a flow that declares none: the mean of each metric of its scored rows."""


def tell_nothing(figures: Mapping[str, Any]) -> Iterator[str]:
    """Return no notes."""
    yield from ()


@dataclass(frozen=True)
class Evaluation:
    """How a flow evaluates a system on a user's dataset."""

    read: ReadOwn
    measure: MeasureRows | None = None
    """None: the means of what `list_scored` and `list_answered` of the evaluated stage give."""
    printed: tuple[Printed, ...] = MEASURES
    notes: Callable[[Mapping[str, Any]], Iterator[str]] = tell_nothing
    """Lists the lines below the tables, from the figures."""
    takes: frozenset[str] = frozenset()
    """Options that the flow takes beside those of all flows: `documents`, `turns`, `language`. A system that
    retrieves from documents is refused by a flow that takes none."""


def warn_few(n: int, what: str = "items") -> list[str]:
    """Warn of figures over few items, or of what else is counted."""
    return [f"{n} {what} are few: read the intervals."] if n < FEW else []


def list_unread(rows: Iterable[CanaryRow]) -> list[str]:
    """List the canaries without a verdict, one line each, with the reason."""
    return [f"canary {row.id}: unscored: {row.problem}" for row in rows if row.given is None]


def measure_strands(strands: Iterable[Strand], artifact: str) -> Measured:
    """Compute the mean of each metric, with an interval over groups. artifact: of the scored rows."""
    values: dict[str, list[tuple[str, float | None]]] = defaultdict(list)
    failures = []
    for strand in strands:
        for scored, answered in strand.answers:
            values[answered.metric].append((scored.group, scored.value))
            for metric, value in answered.further.items():
                values[metric].append((scored.group, value))
            if scored.value is None:
                failures.append(f"item {answered.case}: unscored: {answered.note or answered.answer}")
    rows = Selection(artifact)
    n = len({group for scores in values.values() for group, _ in scores})
    figures = {
        "warnings": warn_few(n, "groups of items"),
        "counts": {"unscored": len(failures)},
        "measures": {
            metric: average_groups(scores, Derivation(f"mean of {metric}", (rows,)))
            for metric, scores in values.items()
        },
    }
    return Measured(figures, failures, {"scores": Derivation("count", (rows,))}, rest={"/counts": (rows,)})


def average_groups(scores: Sequence[tuple[str, float | None]], basis: Derivation) -> FigureCell:
    """Average scores, with a 95% interval that resamples whole groups. scores: (group, score), None: failed.

    A mean of 0 or 1 that no draw changes has Wilson's interval over the groups; any other such mean has none.
    """
    given = [(group, score) for group, score in scores if score is not None]
    failed = len(scores) - len(given)
    if not given:
        return leave_empty(f"none of {failed} scores is there", SCORES, failed)
    places = {group: place for place, group in enumerate(dict.fromkeys(group for group, _ in given))}
    column = np.array([[score] for _, score in given], dtype=np.float64)
    sample = MeanSample(("mean",), frozenset(), column, np.ones(len(given), dtype=np.int64))
    clusters = np.array([places[group] for group, _ in given], dtype=np.int64)
    mean = fmean(score for _, score in given)
    interval = bootstrap(sample, DRAWS.draws, DRAWS.seed, clusters)["mean"] if len(places) > 1 else None
    if interval is not None and interval[0] == interval[1]:
        interval = find_wilson_interval(round(mean) * len(places), len(places)) if mean in (0, 1) else None
    return FigureCell(mean, len(given), failed, interval, SCORES, basis=basis)
