"""The types in an assessment's figures.json, which `grammar.assessment` writes and the page reads."""

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
from tasks.reports.plurals import agree
from tasks.reports.tables import Cell, FigureTable
from tasks.scoring.statistics import explain_missing

Interval = tuple[float, float]


@dataclass(frozen=True)
class RateIntervals:
    """The 95% intervals of a set's rates; None if a rate has no interval."""

    accuracy: Interval | None
    robustness: Interval | None
    retrieval_db_accuracy: Interval | None
    gap_share: Annotated[Interval | None, Field(alias="lambda")]


@dataclass(frozen=True)
class RateCounts:
    """A rate's denominator. `n` counts rows or groups, as `of` states. `clusters` counts SQL templates."""

    n: int
    of: str
    clusters: int


@dataclass(frozen=True)
class RateBases:
    """The denominators of a set's rates."""

    accuracy: RateCounts
    robustness: RateCounts
    retrieval_db_accuracy: RateCounts
    gap_share: Annotated[RateCounts, Field(alias="lambda")]


@dataclass(frozen=True)
class Rates:
    """The rates of a set of rows, 0 to 1; None if the denominator is 0.

    `n` and `n_scored` are numbers of rows. `gap_share` is the paper's lambda (Eq. 3), the share of rows in
    gap groups.
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
        """Make the table cell for a rate. `failed` is the number of rows without a score."""
        value, over = getattr(self, field), getattr(self.over, field)
        interval = getattr(self.ci, field)
        if value is None:
            why = "every scored answer is in a gap group" if self.n_scored else "no answer is scored"
        else:
            why = "" if interval else explain_missing(over.clusters, TEMPLATES)
        of = f"{over.of}, {over.clusters:,} {agree(TEMPLATES, over.clusters)}"
        return Cell(value, over.n, failed, interval, of, why)


@dataclass(frozen=True)
class HeadlineFault:
    """The module that the page's headline names as at fault, for the selected set, mode and rule."""

    set: str
    mode: str
    rule: str
    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class GapRecovery:
    """Recall and precision of a rule that detects planted gaps.

    The intervals are 95% Wilson intervals. `found`, `called` and `planted` are numbers of groups (see
    `GapDiagnosis`).
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
    """An ablation, and the recall and precision of rules that detect its planted gaps.

    `share` is the sampled share of the groups. `documents` is the number of removed documents. `planted`
    contains the groups that lost all their true documents. `touched` contains the groups that lost only some
    of their true documents. `rules` contains recall and precision, by rule and mode.
    """

    share: float
    documents: int
    planted: tuple[str, ...]
    touched: tuple[str, ...]
    rules: Mapping[str, Mapping[str, GapRecovery]]


@dataclass(frozen=True)
class JudgeFigures:
    """The figures about the judge's reliability.

    `further_canaries` is None if the second set of canaries (cases with known verdicts) was not judged.
    `unscored` is the number of answers without a verdict. `ruled` contains the number of answers that each
    rule decided. `people` is the agreement with human labels, or None if there are no human labels.
    `people_by_judge` covers only answers that no rule decided.
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
    """Numbers of rows and groups. `failed_answers` counts the answers without a response."""

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

    - `rates` contains rates by set, mode and criterion. The key `all` stands for all rows together.
    - `hypothesis` contains the tests of criterion A against B, by set and mode.
    - `gaps` contains numbers of groups by set, mode, criterion and tag. The key `mutual` stands for all
      rows together.
    - `tables` contains the paper's tables, by number.
    - `fault` is the module that causes the difference between the criteria.
    - `losses` contains the number of wrong answers per module over all criteria, in the set and mode of
      `fault`. The rule `sufficiency` determines the modules.
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
