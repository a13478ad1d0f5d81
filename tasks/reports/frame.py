"""What all pages stand in: their templates, and how a page is kept: as a folder, or as one file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tasks.artifacts.export import draft_folder
from tasks.reports.embed import write_data

PAGES_FOLDER = Path(__file__).parent / "pages"
FRAME = PackageLoader("tasks.reports", "pages")
PAGES = Environment(
    loader=FRAME,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["count"] = lambda number: f"{number:,}"
SHARED = ("report.css", "core.js", "browse.js")
"""Beside every page that lists rows; its own styles and scripts come after these."""
RECORD = "report.json"
"""A page's figures in its folder: what the front page reads, and what lineage walks back from."""


def open_templates(package: str) -> Environment:
    """Give the templates of a paper (the folder `pages` of its package) over those of the frame."""
    return PAGES.overlay(loader=ChoiceLoader([PackageLoader(package, "pages"), FRAME]))


def summarise(
    part: str,
    *,
    flow: str,
    name: str,
    title: str,
    subtitle: str,
    finding: str = "",
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Begin a page's record with what the front page shows of it; `figures` follow.

    part: `dataset` or `assessment`. finding: what it came to, in words.
    """
    return {
        "part": part,
        "flow": flow,
        "name": name,
        "title": title,
        "subtitle": subtitle,
        "finding": finding,
        "warnings": list(warnings),
    }


def write_folder(
    out: Path,
    template: Template,
    own: Iterable[Path],
    *,
    record: str,
    rows: tuple[str, Any],
    calls: Any,
    form: tuple[str, str] = ("", ""),
    **told: Any,
) -> None:
    """Write a page's folder: index.html, its styles and scripts, its rows and calls, its figures.

    A folder can be moved or sent and still opens. Texts may hold anything: the template escapes them, and
    the data can close no tag. own: styles and scripts beside the shared ones. rows: what is browsed, under
    the name by which its script asks for it; calls are loaded when they are first looked at.
    form: name and text of a CSV that people fill in, where there is one; with a mark that spreadsheets know
    UTF-8 by. told: what folder.html and the template show.
    """
    name, data = rows
    parts = [*(PAGES_FOLDER / each for each in SHARED), *own]
    scripts = [*(each.name for each in parts if each.suffix == ".js"), f"{name}.js"]
    html = template.render(
        styles=[each.name for each in parts if each.suffix == ".css"], scripts=scripts, **told
    )
    with draft_folder(out) as folder:
        (folder / "index.html").write_text(html, encoding="utf-8", newline="\n")
        for part in parts:
            (folder / part.name).write_bytes(part.read_bytes())
        (folder / RECORD).write_text(record, encoding="utf-8", newline="\n")
        if form[1]:
            (folder / form[0]).write_text(form[1], encoding="utf-8-sig", newline="")
        write_data(folder / f"{name}.js", name, data)
        write_data(folder / "calls.js", "calls", calls)


def render_alone(
    template: str, *, styles: Sequence[str] = ("report.css",), scripts: Sequence[str] = (), **told: Any
) -> str:
    """Render a page that is one file: its styles and scripts stand in it, and its policy allows only them."""
    style = "\n".join(_read_part(each) for each in styles)
    texts = [_read_part(each) for each in scripts]
    return PAGES.get_template(template).render(
        style=Markup(style),  # noqa: S704 - ours
        scripts=[Markup(each) for each in texts],  # noqa: S704 - ours
        seals={"style": [_seal(style)], "script": [_seal(each) for each in texts]},
        **told,
    )


def _read_part(name: str) -> str:
    return (PAGES_FOLDER / name).read_text(encoding="utf-8")


def _seal(text: str) -> str:
    """Hash what stands between two tags, as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
