"""Where a page stands in its project: the way home, and the names that commands know files by."""

from __future__ import annotations

import os
from pathlib import Path

TOPS = ("data", ".benchloom")
"""Folders of a project that pages and artifacts lie in."""
FRONT_PAGE = "data/reports/index.html"


def name_in_project(path: Path) -> str:
    """Name a file relative to its project, as `data/...`; empty if it lies in none of a project's folders."""
    inside = Path(os.path.relpath(path)) if path.is_absolute() else path
    parts = inside.parts
    if parts[:1] and parts[0] in TOPS:
        return inside.as_posix()
    # Of another project than the one that this runs in: the innermost, since a project may lie in a `data`.
    start = max((place for place, part in enumerate(parts[:-1]) if part in TOPS), default=None)
    return "" if start is None else Path(*parts[start:]).as_posix()


def link_home(page: Path) -> str:
    """Link the front page from the file of a page; empty if it lies in none of a project's folders."""
    name = name_in_project(page)
    return Path(os.path.relpath(FRONT_PAGE, Path(name).parent)).as_posix() if name else ""
