"""The front page over all reports: one file, since the reports beside it belong to other stages."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.files import write_text
from tasks.reports.frame import RECORD, render_alone

SECTIONS = {"dataset": "Datasets", "assessment": "Assessments"}
"""A page's part of the site (tasks.reports.frame.summarise), in the order of the front page."""


def write_index(reports: Sequence[Path], out: Path) -> None:
    """Write the front page `out` over report folders, flows and titles in order.

    Raises BadInput where a folder holds no report.
    """
    entries = [
        {**_read_record(folder), "link": Path(os.path.relpath(folder / "index.html", out.parent)).as_posix()}
        for folder in reports
    ]
    entries.sort(key=lambda each: (each["flow"], each["title"], each["link"]))
    sections = [
        {"title": title, "entries": [each for each in entries if each["part"] == part]}
        for part, title in SECTIONS.items()
    ]
    write_text(out, render_alone("front.html", sections=[each for each in sections if each["entries"]]))


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(path, "is no report's record", hint="run the report's stage") from error
    if not isinstance(record, dict) or "part" not in record:
        raise BadInput(path, "is the record of an older report", hint="run the report's stage")
    return record
