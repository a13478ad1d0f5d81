"""`benchloom report`: the front page over all reports."""

from __future__ import annotations

import sys
import webbrowser

from flows.settings import find_project

REPORTS = "data/reports"


def report_command(*, open_it: bool) -> int:
    """Write the site's front page over the reports that the stages have made; returns the exit code."""
    from tasks.reports.site import write_index

    root = find_project()
    folder = root / REPORTS
    reports = sorted(page.parent for page in folder.glob("*/*/index.html"))
    index = folder / "index.html"
    write_index(reports, index)
    print(f"the pages: {index.relative_to(root)} ({len(reports)} reports)", file=sys.stderr)
    if open_it:
        webbrowser.open(index.as_uri())
    return 0
