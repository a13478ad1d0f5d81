"""Compute links to the front page, and paths relative to the project."""

from __future__ import annotations

import os
from pathlib import Path

TOPS = ("data", ".benchloom")
"""Top-level folders of a project that contain pages and artifacts."""
FRONT_PAGE = "data/reports/index.html"


def name_in_project(path: Path) -> str:
    """Return a file's path relative to its project (`data/...`).

    The result is empty if the file is outside a project.
    """
    inside = Path(os.path.relpath(path)) if path.is_absolute() else path
    parts = inside.parts
    if parts[:1] and parts[0] in TOPS:
        return inside.as_posix()
    # The file is in another project. Use the innermost folder of TOPS, since a project may be inside a folder
    # named `data`.
    start = max((place for place, part in enumerate(parts[:-1]) if part in TOPS), default=None)
    return "" if start is None else Path(*parts[start:]).as_posix()


def link_home(page: Path) -> str:
    """Return the link from a page to the front page; empty if the page is outside a project."""
    name = name_in_project(page)
    return Path(os.path.relpath(FRONT_PAGE, Path(name).parent)).as_posix() if name else ""
