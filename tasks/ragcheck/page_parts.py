"""Shared by the pages of both parts: page head and folder, counts of dropped rows, rows of the browsers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.ragcheck.judge_report import JudgeReport
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.reports.calls import ShownCall
from tasks.reports.figure_cells import FigureTable
from tasks.reports.folder import BrowsedRows, Form, write_page
from tasks.reports.frame import open_templates
from tasks.reports.metrics import MetricGroup
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.systems.contract import Passage

PAGES = Path(__file__).parent / "pages"
ASSETS = ("ragcheck.css", "ragcheck.js")
FORM = "to_rate.csv"
"""File name of the form in which people rate answers; the page links to it."""


class ShownContext(NamedTuple):
    """A retrieved passage as the browser shows it."""

    title: str
    text: str
    score: float


class ShownExchange(NamedTuple):
    """An earlier question and answer of the conversation that a question belongs to."""

    question: str
    answer: str


class DropCount(NamedTuple):
    """Number of rows that the stage of an artifact dropped for one reason."""

    artifact: str
    reason: str
    rows: int


@dataclass(frozen=True)
class BrowsedRow:
    """The columns that both browsers share. id: the answer's or conversation's; key: the question's."""

    id: str
    question: str
    reference: str
    dataset: str
    key: str
    language: str
    history: list[ShownExchange]


def make_page(
    name: str,
    title: str,
    subtitle: str,
    headlines: Sequence[Headline],
    judges: Sequence[JudgeReport],
    systems: Sequence[SystemFigure],
) -> Page:
    """Make a page's head: title, headlines and the judges' warnings. name: the page's folder name."""
    warnings = [f"{judge.name}: {warning}" for judge in judges for warning in judge.warnings]
    return Page(ASSESSMENTS, "ragcheck", name, title, subtitle, headlines, warnings, systems=systems)


def write_ragcheck_page(
    out: Path,
    page: Page,
    template: str,
    content: object,
    rows: BrowsedRows,
    calls: Mapping[str, ShownCall],
    tables: Mapping[str, FigureTable],
    metrics: Path,
    bars: Path,
    groups: Sequence[MetricGroup],
    form: Form | None = None,
) -> None:
    """Write a page's folder.

    template: file name in pages/; content: its values; rows: for pages/ragcheck.js; calls: by
    ledger key; tables: for the record; metrics, bars, groups: see `write_page`.
    """
    write_page(
        out,
        page,
        open_templates("tasks.ragcheck").get_template(template),
        content,
        assets=[PAGES / asset for asset in ASSETS],
        rows=rows,
        calls=calls,
        tables=tables,
        form=form,
        metrics=metrics,
        bars=bars,
        groups=groups,
    )


def count_drops(paths: Iterable[Path]) -> list[DropCount]:
    """Count the rows of `.dropped` artifacts by artifact and reason."""
    return [
        DropCount(path.name.partition(".")[0], reason, count)
        for path in paths
        for reason, count in sorted(Counter(row.reason for row in read_rows(path, Dropped)).items())
    ]


def list_calls(*origins: Sequence[Origin]) -> list[str]:
    """List the distinct ledger keys among the origins of several rows."""
    return list(dict.fromkeys(origin.reference for own in origins for origin in own if origin.kind == "call"))


def show_passages(passages: Sequence[Passage]) -> list[ShownContext]:
    """Make browser rows of passages."""
    return [
        ShownContext(passage.title or passage.document, passage.text, passage.score) for passage in passages
    ]


def show_history(question: ReferenceQuestion) -> list[ShownExchange]:
    """Make browser rows of the exchanges before a question."""
    return [ShownExchange(exchange.question, exchange.answer) for exchange in question.history]
