"""`benchloom report`: the front page over all reports."""

from __future__ import annotations

import sys
import webbrowser

from flows.settings import find_project
from tasks.errors import BadInput

REPORTS = "data/reports"
PAGE = "index.html"


def report_command(*, open_it: bool) -> int:
    """Write the site's front page over the reports that the stages have made; returns the exit code."""
    from tasks.reports.record import RECORD
    from tasks.reports.site import write_index

    root = find_project()
    folder = root / REPORTS
    reports = sorted({part.parent for name in (PAGE, RECORD) for part in folder.glob(f"*/*/{name}")})
    for report in reports:
        if not (report / PAGE).is_file():
            raise BadInput(report / PAGE, f"is not there, and {RECORD} is", hint="run the report's stage")
    index = folder / PAGE
    write_index(reports, index)
    print(f"the pages: {index.relative_to(root)} ({len(reports)} reports)", file=sys.stderr)
    if open_it:
        webbrowser.open(index.as_uri())
    return 0
