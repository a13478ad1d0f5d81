"""Declare how `benchloom evaluate` evaluates a system in a flow, for use in each paper's `evaluation.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.judging.canaries import CanaryRow
from tasks.judging.comparison import FEW, ScoredSystem
from tasks.lineage.bases import escape_pointer
from tasks.lineage.derivation import Derivation, Number, measure_rows
from tasks.lineage.selection import SelectedRows, Selection, select_rows
from tasks.reports.evaluation_page import ScoredAnswer, tabulate_means, tabulate_tags
from tasks.reports.printed import Printed, PrintedColumn, Rows
from tasks.reports.tables import Cell, FigureTable
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection

OwnRows = Mapping[str, Sequence[Any]]
"""Artifact -> rows of an evaluation; rows that a stage dropped are under `<artifact>_dropped`."""


@dataclass(frozen=True)
class Measured:
    """The figures of an evaluation for figures.json.

    - figures: numbers, or derivations to compute numbers from
    - failures: one line for each row without a score
    - bases: JSON pointer -> derivation, for figures that are given as numbers
    - rest: JSON pointer -> source rows, for all numbers below the pointer that have no derivation
    """

    figures: Mapping[str, object]
    failures: Sequence[str] = ()
    bases: Mapping[str, Derivation] = field(default_factory=dict)
    rest: Mapping[str, Sequence[Selection]] = field(default_factory=dict)


ReadOwn = Callable[[EvaluationOptions, SystemEntry, ReadSection], OwnDataset]
"""A function, usually an `ItemDataset`, that reads and validates the user's dataset. May raise BadInput."""
MeasureRows = Callable[[OwnRows, EvaluationOptions, ReadSection], Measured]
"""A function that computes the figures from the rows that the stages read and wrote."""

MEASURES = (
    Printed(
        ("metric",),
        (Rows("/measures/*", ("{0}",)),),
        (PrintedColumn("n", "n"), PrintedColumn("without", "failed"), PrintedColumn("mean", digits=3)),
        "{scores} scores, {unscored} without one",
    ),
    Printed(
        ("tag", "metric"),
        (Rows("/tags/*/*", ("{0}", "{1}")),),
        (PrintedColumn("n", "n"), PrintedColumn("without", "failed"), PrintedColumn("mean", digits=3)),
        "By tag",
    ),
)
"""Default tables of a flow: the mean of each metric over scored rows, and the means by tag."""


@dataclass(frozen=True)
class Evaluation:
    """Declares how a flow evaluates a system on a user's dataset."""

    read: ReadOwn
    measure: MeasureRows | None = None
    """Computes the figures; None computes means from `list_scored` and `list_answered`."""
    printed: tuple[Printed, ...] = MEASURES
    notes: Callable[[Mapping[str, Any]], Iterator[str]] = lambda figures: iter(())
    """Yields the lines to print below the tables, given the figures."""
    takes: frozenset[str] = frozenset()
    """Options that this flow accepts in addition to the options of all flows.

    Possible options: `documents`, `turns`, `language`, `columns`, `score`, `judge`. A system that retrieves
    from documents is rejected if the flow does not accept `documents`.
    """
    anywhere: bool = False
    """Whether the evaluation also works outside a project, without any parameters from params.yaml."""


def resolve_figures(value: object, folder: Path, bases: dict[str, Derivation], pointer: str = "") -> object:
    """Return a record with derivations replaced by numbers; store the derivations in `bases` by JSON pointer.

    `folder`: the folder of the derivations' artifacts. `pointer`: the JSON pointer of `value` in the record.
    """
    if isinstance(value, Derivation):
        bases[pointer] = value
        return compute_figure(value, folder)
    if isinstance(value, Mapping):
        return {
            name: resolve_figures(part, folder, bases, f"{pointer}/{escape_pointer(name)}")
            for name, part in value.items()
        }
    return value


def compute_figure(derivation: Derivation, folder: Path) -> Number | None:
    """Compute a number from its derivation. folder: the folder of the derivation's artifacts."""
    return measure_rows(
        derivation, [_select(folder, selection, derivation.column) for selection in derivation.rows]
    )


def _select(folder: Path, selection: Selection, expression: str = "") -> SelectedRows:
    joined = {column: _select(folder, other).ids for column, other in selection.through.items()}
    return select_rows(folder / f"{selection.artifact}.parquet", selection, expression, joined)


def warn_few(n: int, what: str = "items") -> list[str]:
    """Return a list with one warning if `n` is below `FEW` (20), otherwise an empty list.

    what: the noun for the counted items.
    """
    return [f"With only {n} {what}, the means are uncertain: read the intervals."] if n < FEW else []


def list_unread(rows: Iterable[CanaryRow]) -> list[str]:
    """Return one line with the reason for each canary (test case of the judge) that has no verdict."""
    return [f"canary {row.id}: unscored: {row.problem}" for row in rows if row.given is None]


def measure_scored_systems(scored_systems: Iterable[ScoredSystem], artifact: str) -> Measured:
    """Compute the mean of each metric, overall and by tag, with intervals from a bootstrap over groups.

    artifact: the artifact with the scores.
    """
    outcomes = [
        ScoredAnswer(scored_system.system, scored, answered)
        for scored_system in scored_systems
        for scored, answered in scored_system.answers
    ]
    means, rows = tabulate_means(outcomes, artifact).fill(outcomes), Selection(artifact)
    tags = tabulate_tags(outcomes, artifact)
    unscored = [outcome.answered for outcome in outcomes if outcome.scored.value is None]
    figures = {
        "warnings": [
            *warn_few(len({outcome.scored.group for outcome in outcomes}), "groups of items"),
            *(tags.notes if tags else ()),
        ],
        "counts": {"scores": Derivation("count", (rows,)), "unscored": len(unscored)},
        "measures": {
            metric: cell
            for line in means.lines
            for metric, cell in zip(means.columns, line.cells, strict=True)
        },
        **({"tags": nest_tags(tags.fill(outcomes))} if tags else {}),
    }
    return Measured(
        figures,
        [f"item {answered.case}: unscored: {answered.note or answered.answer}" for answered in unscored],
        rest={"/counts": (rows,)},
    )


def nest_tags(table: FigureTable) -> dict[str, dict[str, Cell]]:
    """Convert a table by tag to a nested mapping: tag -> metric -> cell."""
    return {line.label[0]: dict(zip(table.columns, line.cells, strict=True)) for line in table.lines}
