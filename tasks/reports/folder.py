"""Write a page as a folder: index.html, styles and scripts, rows and calls, and its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template

from tasks.artifacts.export import draft_folder
from tasks.reports.calls import ShownCall
from tasks.reports.embed import write_data
from tasks.reports.frame import PAGES_FOLDER
from tasks.reports.page import Page
from tasks.reports.record import RECORD, write_record
from tasks.reports.table_record import RecordedTable, encode_tables

SHARED = ("report.css", "core.js", "browse.js")
"""Styles and scripts of every page that lists rows; a page's own follow these."""


@dataclass(frozen=True)
class BrowsedRows:
    """The rows that a page's browser lists.

    name: by which the page's script requests them, and the stem of their file. data: of JSON types and
    dataclasses, in the form that the script reads.
    """

    name: str
    data: object


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
) -> None:
    """Write a page's folder. It has no references to the outside, so it can be moved.

    template: extends folder.html, is given `page` and `content`, and escapes every text. content: a
    dataclass. assets: the page's own styles and scripts. calls: by ledger key; the page loads them when one
    is first opened. figures: the record's entries beyond the page's head, see `write_record`. tables: what
    the page shows as tables or draws, by key, for the record.
    """
    parts = [*(PAGES_FOLDER / name for name in SHARED), *assets]
    styles = [part.name for part in parts if part.suffix == ".css"]
    scripts = [*(part.name for part in parts if part.suffix == ".js"), f"{rows.name}.js"]
    html = template.render(page=page, content=content, styles=styles, scripts=scripts)
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
