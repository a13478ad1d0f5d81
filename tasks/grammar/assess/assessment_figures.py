"""figures.json of an assessment: the stage `grammar.assessment` writes it, the assessment's page reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tasks.grammar.assess.contrast import CriteriaTest
from tasks.grammar.assess.judged import TEMPLATES
from tasks.grammar.assess.losses import Losses
from tasks.judging.canaries import CanaryHealth
from tasks.judging.trust import HumanAgreement
from tasks.lineage.derivation import Number
from tasks.reports.tables import Cell, FigureTable
from tasks.scoring.statistics import explain_missing

Interval = tuple[float, float]


@dataclass(frozen=True)
class RateIntervals:
    """The 95% intervals of a set's rates; None if there is none."""

    accuracy: Interval | None
    robustness: Interval | None
    retrieval_db_accuracy: Interval | None
    gap_share: Annotated[Interval | None, Field(alias="lambda")]


@dataclass(frozen=True)
class RateBasis:
    """A rate's own denominator: n rows or groups (`of`), and of how many SQL templates they are."""

    n: int
    of: str
    clusters: int


@dataclass(frozen=True)
class RateBases:
    """The number of items behind each rate of a set."""

    accuracy: RateBasis
    robustness: RateBasis
    retrieval_db_accuracy: RateBasis
    gap_share: Annotated[RateBasis, Field(alias="lambda")]


@dataclass(frozen=True)
class Rates:
    """The rates of a set of rows, each 0 to 1; None if the denominator is 0.

    n, n_scored: numbers of rows. gap_share: lambda of Eq. 3, the share of rows in gap groups. `show` makes
    the cell of a rate.
    """

    n: int
    n_scored: int
    accuracy: Number | None
    robustness: Number | None
    retrieval_db_accuracy: Number | None
    gap_share: Annotated[Number | None, Field(alias="lambda")]
    over: RateBases
    ci: RateIntervals

    def show(self, field: str, failed: int = 0) -> Cell:
        """Make the cell of a rate over its own denominator. failed: rows that could not be counted."""
        value, over = getattr(self, field), getattr(self.over, field)
        interval = getattr(self.ci, field)
        if value is None:
            why = "every scored row is in a gap group" if self.n_scored else "no row is scored"
        else:
            why = "" if interval else explain_missing(over.clusters, TEMPLATES)
        of = f"{over.of}, {over.clusters:,} {TEMPLATES}"
        return Cell(value, over.n, failed, interval, of, why)


@dataclass(frozen=True)
class HeadlineFault:
    """The fault that the assessment's parameters select for the page's head: of one set, mode and rule."""

    set: str
    mode: str
    rule: str
    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class GapRecovery:
    """Recall and precision of a rule for planted gaps.

    Intervals: 95%, Wilson's. found, called, planted: numbers of groups, see `GapDiagnosis`.
    """

    recall: float | None
    recall_interval: Interval | None
    precision: float | None
    precision_interval: Interval | None
    found: int
    called: int
    planted: int


@dataclass(frozen=True)
class PlantedGaps:
    """The ablation and how its gaps were recovered.

    share: of the groups that were chosen. documents: number of removed documents. planted, touched: groups
    that lost all of their documents, or some. rules: rule -> mode -> recovery.
    """

    share: float
    documents: int
    planted: tuple[str, ...]
    touched: tuple[str, ...]
    rules: Mapping[str, Mapping[str, GapRecovery]]


@dataclass(frozen=True)
class JudgeFigures:
    """The reliability of the judge.

    further_canaries: None if they were not judged. unscored: answers without a verdict. ruled: rule -> number
    of answers that it decided. people: None without labels; people_by_judge: the same over the answers that
    no rule decided.
    """

    warnings: tuple[str, ...]
    canaries: CanaryHealth
    further_canaries: CanaryHealth | None
    unscored: int
    ruled: Mapping[str, int]
    people: HumanAgreement | None
    people_by_judge: HumanAgreement | None


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows and groups. failed_answers: the system gave no response."""

    rows: int
    groups: int
    scored: int
    unscored: int
    failed_answers: int
    balanced: int
    unbalanced: int


@dataclass(frozen=True)
class AssessmentFigures:
    """The part of figures.json that the page shows.

    rates: set -> mode -> `all` or a criterion. hypothesis: set -> mode. gaps: set -> mode -> criterion or
    `mutual` -> tag -> number of groups. tables: by the paper's number. fault: what a difference between the
    criteria comes from. losses: what wrong answers come from under all criteria, in the same set and mode, by
    sufficiency.
    """

    criteria: tuple[str, str]
    judge: JudgeFigures
    counts: RowCounts
    rates: Mapping[str, Mapping[str, Mapping[str, Rates]]]
    hypothesis: Mapping[str, Mapping[str, CriteriaTest]]
    gaps: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]
    planted: PlantedGaps | None
    tables: Mapping[str, FigureTable]
    fault: HeadlineFault
    losses: Losses
