"""Write a page as a folder: index.html, styles and scripts, rows and calls, and its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template

from tasks.artifacts.export import draft_folder
from tasks.reports.calls import ShownCall
from tasks.reports.embed import write_data
from tasks.reports.frame import PAGES_FOLDER
from tasks.reports.metrics import MetricGroup, write_bars, write_metrics
from tasks.reports.page import Page
from tasks.reports.places import link_home, name_in_project
from tasks.reports.record import RECORD, write_record
from tasks.reports.table_record import RecordedTable, encode_tables

SHARED = ("report.css", "core.js", "tables.js", "browse.js")
"""Styles and scripts of every page that lists rows; a page's own follow these."""


@dataclass(frozen=True)
class BrowsedRows:
    """The rows that a page's browser lists.

    name: by which the page's script requests them, and the stem of their file. data: of JSON types and
    dataclasses, in the form that the script reads. artifact: whose rows they are, for their lineage.
    """

    name: str
    data: object
    artifact: Path


@dataclass(frozen=True)
class Form:
    """A CSV form for people to fill in. name: of its file."""

    name: str
    text: str


def write_page(
    out: Path,
    page: Page,
    template: Template,
    content: object,
    *,
    assets: Iterable[Path],
    rows: BrowsedRows,
    calls: Mapping[str, ShownCall],
    figures: Mapping[str, object] | None = None,
    tables: Mapping[str, RecordedTable] | None = None,
    form: Form | None = None,
    metrics: Path,
    bars: Path | None = None,
    groups: Sequence[MetricGroup] = (),
    charts: Sequence[MetricGroup] = (),
) -> None:
    """Write a page's folder, and its main figures as files for DVC.

    The folder has no references to the outside, so it can be moved.

    template: extends folder.html, is given `page` and `content`, and escapes every text. content: a
    dataclass. assets: the page's own styles and scripts. calls: by ledger key; the page loads them when one
    is first opened. figures: the record's entries beyond the page's head, see `write_record`. tables: what
    the page shows as tables or draws, by key, for the record. metrics: the folder of the figures at the
    page's head and of `groups`; bars: the folder of the plots of groups and of further `charts`.
    """
    write_metrics(metrics, page, groups)
    if bars is not None:
        write_bars(bars, [*groups, *charts])
    parts = [*(PAGES_FOLDER / name for name in SHARED), *assets]
    styles = [part.name for part in parts if part.suffix == ".css"]
    scripts = [*(part.name for part in parts if part.suffix == ".js"), f"{rows.name}.js"]
    html = template.render(
        page=page,
        content=content,
        styles=styles,
        scripts=scripts,
        home=link_home(out / "index.html"),
        record=name_in_project(out / RECORD),
        artifact=name_in_project(rows.artifact),
        pointers=point_tables(figures or {}, tables or {}),
    )
    with draft_folder(out) as folder:
        (folder / "index.html").write_text(html, encoding="utf-8", newline="\n")
        for part in parts:
            (folder / part.name).write_bytes(part.read_bytes())
        recorded = {} if tables is None else {"tables": encode_tables(tables)}
        write_record(folder / RECORD, page, {**(figures or {}), **recorded})
        if form is not None:
            # With a byte order mark: spreadsheets take a CSV without one for another encoding.
            (folder / form.name).write_text(form.text, encoding="utf-8-sig", newline="")
        write_data(folder / f"{rows.name}.js", rows.name, rows.data)
        write_data(folder / "calls.js", "calls", calls)


def point_tables(figures: Mapping[str, object], tables: Mapping[str, RecordedTable]) -> dict[str, str]:
    """Map the keys of a page's tables to their JSON pointers in its record."""
    own = figures.get("tables")
    if isinstance(own, Mapping):
        return {str(key): f"/tables/{key}" for key in own}
    return {key: f"/tables/{place}" for place, key in enumerate(tables)}
