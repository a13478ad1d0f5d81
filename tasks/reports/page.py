"""One dataset's page: figures, artifacts and their graph, tables, and a browser of its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.artifacts.basis import Basis
from tasks.artifacts.facts import ArtifactFacts, Tally, group_by_prompt, tally_calls
from tasks.reports.contracts import Contracts
from tasks.reports.frame import PAGES, PAGES_FOLDER, write_folder
from tasks.reports.layout import Layout, lay_out
from tasks.reports.record import write_record


@dataclass(frozen=True)
class Figure:
    """A number at the head of the page. basis: the rows that it was computed from, for lineage."""

    label: str
    value: int | float
    note: str = ""
    basis: Basis | None = None


@dataclass(frozen=True)
class Bar:
    """A line of a chart: counts in the order of the chart's steps, with a basis of each, or of none."""

    label: str
    counts: Sequence[int]
    bases: Sequence[Basis] = ()


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


def write_report(report: Report, out: Path) -> None:
    """Write the page's folder: index.html, its style and scripts, its data."""
    artifacts = {each.name: each for each in report.artifacts}
    write_folder(
        out,
        PAGES.get_template("report.html"),
        [PAGES_FOLDER / "report.js"],
        record=write_record(report),
        rows=("questions", report.browser),
        calls=report.calls,
        flow=report.flow,
        name=report.name,
        title=report.title,
        subtitle=report.subtitle,
        figures=report.figures,
        warnings=(),
        report=report,
        artifacts=artifacts,
        tallies={name: tally_calls(each.calls) for name, each in artifacts.items()},
        prompts=_group_prompts(report.artifacts),
        total=tally_calls(call for each in report.artifacts for call in each.calls),
        layout=_lay_out(report),
        most_dropped=max((count for each in report.artifacts for count in each.dropped.values()), default=1),
    )


def _group_prompts(artifacts: Sequence[ArtifactFacts]) -> dict[str, list[tuple[Any, Tally]]]:
    groups: dict[str, list[tuple[Any, Tally]]] = {each.name: [] for each in artifacts}
    for name, call, tally in group_by_prompt(artifacts):
        groups[name].append((call, tally))
    return groups


def _lay_out(report: Report) -> Layout:
    edges = [(source, each.name) for each in report.artifacts for source in each.sources] + list(report.feeds)
    begins = [source for source, _ in report.feeds if source not in {each.name for each in report.artifacts}]
    return lay_out([*dict.fromkeys(begins), *(each.name for each in report.artifacts)], edges)
