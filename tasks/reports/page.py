"""One dataset's page: figures, artifacts and their graph, tables, and a browser of its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tasks.artifacts.basis import Basis
from tasks.artifacts.export import draft_folder
from tasks.artifacts.facts import ArtifactFacts, Tally, group_by_prompt, tally_calls
from tasks.reports.contracts import Contracts
from tasks.reports.embed import write_data
from tasks.reports.layout import Layout, lay_out
from tasks.reports.record import RECORD, write_record

PAGES_FOLDER = Path(__file__).parent / "pages"
PAGES = Environment(
    loader=PackageLoader("tasks.reports", "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["count"] = lambda number: f"{number:,}"
PARTS = ("report.css", "core.js", "browser.js")
"""Copied beside the page, so that a folder can be moved or sent and still opens."""


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
    page = PAGES.get_template("report.html").render(
        report=report,
        artifacts=artifacts,
        tallies={name: tally_calls(each.calls) for name, each in artifacts.items()},
        prompts=_group_prompts(report.artifacts),
        total=tally_calls(call for each in report.artifacts for call in each.calls),
        layout=_lay_out(report),
        most_dropped=max((count for each in report.artifacts for count in each.dropped.values()), default=1),
    )
    with draft_folder(out) as folder:
        (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
        for part in PARTS:
            (folder / part).write_bytes((PAGES_FOLDER / part).read_bytes())
        (folder / RECORD).write_text(write_record(report), encoding="utf-8", newline="\n")
        write_data(folder / "questions.js", "questions", report.browser)
        write_data(folder / "calls.js", "calls", report.calls)


def _group_prompts(artifacts: Sequence[ArtifactFacts]) -> dict[str, list[tuple[Any, Tally]]]:
    groups: dict[str, list[tuple[Any, Tally]]] = {each.name: [] for each in artifacts}
    for name, call, tally in group_by_prompt(artifacts):
        groups[name].append((call, tally))
    return groups


def _lay_out(report: Report) -> Layout:
    edges = [(source, each.name) for each in report.artifacts for source in each.sources] + list(report.feeds)
    begins = [source for source, _ in report.feeds if source not in {each.name for each in report.artifacts}]
    return lay_out([*dict.fromkeys(begins), *(each.name for each in report.artifacts)], edges)
