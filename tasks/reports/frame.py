"""Load the shared templates of all pages, and render single-file pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.reports.plurals import agree

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
PAGES.filters["agree"] = agree


def open_templates(package: str) -> Environment:
    """Return the shared templates, overridden by the templates in a package's folder `pages`."""
    return PAGES.overlay(loader=ChoiceLoader([PackageLoader(package, "pages"), FRAME]))


def render_alone(
    template: str,
    content: object,
    *,
    home: str,
    styles: Sequence[str] = ("report.css",),
    scripts: Sequence[str] = ("core.js", "tables.js"),
) -> str:
    """Render a single-file page; its security policy allows only the inline styles and scripts.

    `template`: name of a shared template. `content`: a dataclass, named `content` in the template. `home`:
    link to the front page, or empty. `styles`, `scripts`: names of shared files.
    """
    style = "\n".join(_read_part(name) for name in styles)
    texts = [_read_part(name) for name in scripts]
    return PAGES.get_template(template).render(
        content=content,
        home=home,
        style=Markup(style),  # noqa: S704 - our own style sheets
        scripts=[Markup(text) for text in texts],  # noqa: S704 - our own scripts
        seals={"style": [_hash(style)], "script": [_hash(text) for text in texts]},
    )


def _read_part(name: str) -> str:
    return (PAGES_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the base64-encoded SHA-256 hash of an inline style or script, for a content security policy."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
