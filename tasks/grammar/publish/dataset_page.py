"""Writes one dataset's page: figures, artifacts and their graph, tables, and a browser of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.statistics import ArtifactFacts, Tally, group_by_prompt, tally_calls
from tasks.grammar.publish.dataset_record import write_record
from tasks.grammar.publish.dataset_report import Report
from tasks.grammar.publish.graph_layout import Layout, lay_out
from tasks.reports.frame import open_templates, write_folder

OWN_PAGES = Path(__file__).parents[1] / "pages"


def write_report(report: Report, out: Path) -> None:
    """Write the page's folder: index.html, its style and scripts, its data."""
    artifacts = {each.name: each for each in report.artifacts}
    write_folder(
        out,
        open_templates("tasks.grammar").get_template("report.html"),
        [OWN_PAGES / "report.js"],
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
