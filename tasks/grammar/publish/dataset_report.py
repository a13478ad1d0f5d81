"""What one dataset's page and its record say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.artifacts.statistics import ArtifactFacts
from tasks.lineage.derivation import Derivation
from tasks.reports.contracts import Contracts


@dataclass(frozen=True)
class Figure:
    """A number at the head of the page. basis: the rows that it was computed from, for lineage."""

    label: str
    value: int | float
    note: str = ""
    basis: Derivation | None = None


@dataclass(frozen=True)
class Bar:
    """A line of a chart: counts in the order of the chart's steps, with a basis of each, or of none."""

    label: str
    counts: Sequence[int]
    bases: Sequence[Derivation] = ()


@dataclass(frozen=True)
class Chart:
    """Bars over the same steps, all to one scale."""

    title: str
    note: str
    steps: Sequence[str]
    bars: Sequence[Bar]

    @property
    def most(self) -> int:
        """The longest bar's count."""
        return max((count for bar in self.bars for count in bar.counts), default=0) or 1


@dataclass(frozen=True)
class Example:
    """A dropped row."""

    id: str
    detail: str


@dataclass(frozen=True)
class Report:
    """All that a page shows. Texts may hold anything: the page escapes them.

    feeds: edges of the graph that rows do not show, source -> target; a source that is no artifact
    is drawn as what everything begins with. examples: (artifact, reason) -> some dropped rows.
    browser: the data of the question browser; calls: ledger key -> what was asked and answered.
    """

    flow: str
    name: str
    title: str
    subtitle: str
    about: Sequence[tuple[str, str]]
    figures: Sequence[Figure]
    artifacts: Sequence[ArtifactFacts]
    explain: Mapping[str, str]
    feeds: Sequence[tuple[str, str]]
    charts: Sequence[Chart]
    examples: Mapping[tuple[str, str], Sequence[Example]]
    browser: Mapping[str, Any]
    calls: Mapping[str, Any] = field(default_factory=dict)
    contracts: Contracts | None = None
