"""Write a report page as a folder with HTML, the viewer's rows, model calls, and the page's record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.export import draft_folder
from tasks.reports.calls import ShownCall
from tasks.reports.embed import write_data
from tasks.reports.frame import PAGES_FOLDER, open_templates
from tasks.reports.metrics import MetricGroup, write_bars, write_metrics
from tasks.reports.page import Page
from tasks.reports.parts import Parts, collect_tables, find_viewer
from tasks.reports.places import link_home, name_in_project
from tasks.reports.record import RECORD, write_record
from tasks.reports.replies import describe_replies
from tasks.reports.tables import FigureTable, encode_tables
from tasks.reports.viewer import ROWS

SHARED = ("report.css", "core.js", "tables.js", "viewer.js")
"""File names of the styles and scripts of every page; a paper's files are loaded afterwards."""
TEMPLATE = "page.html"


@dataclass(frozen=True)
class Form:
    """A CSV form for people to fill in. name: the file's name. text: the file's content."""

    name: str
    text: str


def write_page(
    out: Path,
    page: Page,
    parts: Parts,
    *,
    calls: Mapping[str, ShownCall],
    metrics: Path,
    bars: Path | None = None,
    groups: Sequence[MetricGroup] = (),
    charts: Sequence[MetricGroup] = (),
    figures: Mapping[str, object] | None = None,
    tables: Mapping[str, FigureTable] | None = None,
    form: Form | None = None,
    assets: Iterable[Path] = (),
    package: str = "tasks.reports",
) -> None:
    """Write a page's folder, and the page's main figures as files for DVC.

    The folder contains no external references, so it can be moved.

    `calls`: ledger key -> call; the page loads all calls when a reader first opens a call. `metrics`: folder
    for the headline figures and for `groups`. `bars`: folder for the plots of `groups` and of `charts`.
    `figures`: additional entries of the record; a mapping under the key `tables` replaces the tables of the
    parts. `tables`: the record's tables, if they differ from the tables of the parts. `assets`: styles and
    scripts of a paper. `package`: the paper's package, with templates in the folder `pages`.
    """
    viewer = find_viewer(parts)
    page = replace(page, warnings=(*page.warnings, *describe_replies(calls.values())))
    write_metrics(metrics, page, groups)
    if bars is not None:
        write_bars(bars, [*groups, *charts])
    files = [*(PAGES_FOLDER / name for name in SHARED), *assets]
    recorded = collect_tables(parts) if tables is None else tables
    own = dict(figures or {})
    if "tables" not in own:
        own["tables"] = encode_tables(recorded)
    html = (
        open_templates(package)
        .get_template(TEMPLATE)
        .render(
            page=page,
            content=parts,
            viewer=viewer,
            shown_filters=[(shown.name, shown.label) for shown in viewer.filters],
            styles=[file.name for file in files if file.suffix == ".css"],
            scripts=[*(file.name for file in files if file.suffix == ".js"), f"{ROWS}.js"],
            home=link_home(out / "index.html"),
            record=name_in_project(out / RECORD),
            artifact=name_in_project(viewer.artifact),
            pointers=_point_tables(own["tables"], recorded),
        )
    )
    with draft_folder(out) as folder:
        (folder / "index.html").write_text(html, encoding="utf-8", newline="\n")
        for file in files:
            (folder / file.name).write_bytes(file.read_bytes())
        write_record(folder / RECORD, page, own)
        if form is not None:
            # Without a byte order mark, spreadsheets assume an encoding other than UTF-8.
            (folder / form.name).write_text(form.text, encoding="utf-8-sig", newline="")
        write_data(folder / f"{ROWS}.js", ROWS, viewer.encode())
        for name, stored in viewer.files.items():
            write_data(folder / f"{name}.js", name, stored)
        write_data(folder / "calls.js", "calls", calls)


def _point_tables(own: object, recorded: Mapping[str, FigureTable]) -> dict[str, str]:
    """Map the keys of a page's tables to their JSON pointers in the page's record."""
    if isinstance(own, Mapping):
        return {str(key): f"/tables/{key}" for key in own}
    return {key: f"/tables/{place}" for place, key in enumerate(recorded)}
