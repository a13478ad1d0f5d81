"""`benchloom report`: the front page over all reports, and the page over the whole graph."""

from __future__ import annotations

import sys
import time
import webbrowser

from flows.settings import find_project
from flows.stage import PAGES
from tasks.errors import BadInput

PAGE = "index.html"
GRAPH = "graph.html"
HISTORY = ".benchloom/site.json"
"""What the site was like, for what has changed."""
NIGHTS = "data/nightly/index.html"


def report_command(*, open_it: bool) -> int:
    """Write the site's front page over the reports that the stages have made; returns the exit code."""
    from flows.commands.cli_graph_page import list_graph, tell_time
    from tasks.reports.graph_page import write_graph
    from tasks.reports.record import RECORD
    from tasks.reports.site import SiteLink, write_index

    root = find_project()
    folder = root / PAGES
    reports = sorted({part.parent for name in (PAGE, RECORD) for part in folder.glob(f"*/*/{name}")})
    for report in reports:
        if not (report / PAGE).is_file():
            raise BadInput(report / PAGE, f"is not there, and {RECORD} is", hint="run the report's stage")
    made = tell_time(time.time())
    links = [SiteLink("The graph", GRAPH, "every stage by flow and entry, how fresh and at what cost")]
    if (root / NIGHTS).is_file():
        links.append(SiteLink("The nights", f"../../{NIGHTS}", "systems asked anew, night by night"))
    index, graph = folder / PAGE, folder / GRAPH
    write_index(reports, index, history=root / HISTORY, made=made, links=links)
    write_graph(list_graph(root, graph), made, graph)
    print(f"the pages: {index.relative_to(root)} ({len(reports)} reports)", file=sys.stderr)
    if open_it:
        webbrowser.open(index.as_uri())
    return 0
