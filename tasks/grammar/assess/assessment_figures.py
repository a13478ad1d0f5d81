"""figures.json of an assessment, as the stage `grammar.assessment` writes it and its page reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.grammar.assess.contrast import Contrast
from tasks.grammar.assess.tables import Table
from tasks.judging.canaries import CanaryHealth
from tasks.judging.trust import HumanAgreement
from tasks.lineage.derivation import Number

Interval = tuple[float, float]


@dataclass(frozen=True)
class RateIntervals:
    """The 95% intervals of a set's rates; None where one has none."""

    accuracy: Interval | None
    robustness: Interval | None
    retrieval_db_accuracy: Interval | None


@dataclass(frozen=True)
class Rates:
    """The rates of some rows. gap_share: lambda of Eq. 3, the share of rows in gap groups."""

    n: int
    n_scored: int
    accuracy: Number | None
    robustness: Number | None
    retrieval_db_accuracy: Number | None
    gap_share: Annotated[Number | None, Field(alias="lambda")]
    ci: RateIntervals


@dataclass(frozen=True)
class RuleFault:
    """The module at fault by one context rule; None where it is not known. shown: all that may be."""

    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class HeadlineFault:
    """The fault that the assessment's parameters choose to name first."""

    set: str
    mode: str
    rule: str
    module: str | None
    shown: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class CriteriaTest:
    """Criterion A against B over one set, in one mode: rates by name, the fault by context rule."""

    rates: Mapping[str, Contrast]
    fault: Mapping[str, RuleFault]


@dataclass(frozen=True)
class GapRecovery:
    """How gap groups by a rule match the groups whose documents were withheld."""

    recall: float | None
    recall_interval: Interval | None
    precision: float | None
    precision_interval: Interval | None
    found: int
    called: int
    planted: int


@dataclass(frozen=True)
class PlantedGaps:
    """The groups that lost all of their documents (planted), or some; recovery by rule and mode."""

    documents: int
    planted: tuple[str, ...]
    touched: tuple[str, ...]
    rules: Mapping[str, Mapping[str, GapRecovery]]


@dataclass(frozen=True)
class JudgeFigures:
    """The judge's health. people: None where no labels were given."""

    warnings: tuple[str, ...]
    canaries: CanaryHealth
    people: HumanAgreement | None


@dataclass(frozen=True)
class RowCounts:
    """Rows of the assessment and their groups."""

    rows: int
    groups: int
    scored: int
    unscored: int


@dataclass(frozen=True)
class AssessmentFigures:
    """All figures of an assessment that its page shows.

    rates: set -> mode -> `all` or a criterion. hypothesis: set -> mode. gaps: set -> mode -> criterion or
    `mutual` -> tag -> groups. tables: by the paper's number.
    """

    criteria: tuple[str, str]
    judge: JudgeFigures
    counts: RowCounts
    rates: Mapping[str, Mapping[str, Mapping[str, Rates]]]
    hypothesis: Mapping[str, Mapping[str, CriteriaTest]]
    gaps: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]
    planted: PlantedGaps | None
    tables: Mapping[str, Table]
    fault: HeadlineFault


def read_figures(path: Path) -> AssessmentFigures:
    """Read figures.json. Raises BadInput where it cannot be read, or lacks a figure."""
    try:
        return _FIGURES.validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(path, "cannot be read", hint="run grammar.assessment") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(
            path, f"holds no figures of an assessment: {place}: {first['msg']}", hint="run grammar.assessment"
        ) from error


_FIGURES = TypeAdapter(AssessmentFigures)
