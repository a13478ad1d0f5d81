"""Implement `benchloom report`: build the front page of all reports, and the page of the whole graph."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections import defaultdict
from datetime import datetime
from functools import partial
from pathlib import Path

from flows.commands.cli_columns import join_reasons
from flows.commands.cli_recorder import open_recorder
from flows.commands.status import OWN, KeptCounts, StageGroup, find_entry, find_stage_status
from flows.run.node import Node
from flows.run.outcomes import find_last_time, load_outcome
from flows.run.record.recorder import Recorder
from flows.settings import find_project
from flows.stage import PAGES
from tasks.errors import BadInput
from tasks.reports.graph_page import GraphEntry, GraphStage

PAGE = "index.html"
GRAPH = "graph.html"
HISTORY = ".benchloom/site.json"
"""The file with earlier states of the site, for reporting changes."""
NIGHTS = "data/nightly/index.html"


def report_command(*, open_it: bool) -> int:
    """Write the site's front page from the existing reports; return the exit code."""
    from flows.comparing.entries import find_beaten
    from tasks.reports.graph_page import write_graph
    from tasks.reports.record import RECORD
    from tasks.reports.site import SiteLink, write_index

    root = find_project()
    folder = root / PAGES
    reports = sorted({part.parent for name in (PAGE, RECORD) for part in folder.glob(f"*/*/{name}")})
    for report in reports:
        if not (report / PAGE).is_file():
            raise BadInput(
                report / PAGE, f"does not exist, although {RECORD} does", hint="run the report's stage"
            )
    made = tell_time(time.time())
    links = [
        SiteLink("Stage graph", GRAPH, "every stage, grouped by flow and entry, with its state and cost")
    ]
    if (root / NIGHTS).is_file():
        links.append(SiteLink("Nights", f"../../{NIGHTS}", "the results of every nightly evaluation"))
    index, graph = folder / PAGE, folder / GRAPH
    write_index(
        reports,
        index,
        history=root / HISTORY,
        made=made,
        links=links,
        find_beaten=partial(find_beaten, root),
    )
    write_graph(list_graph(root, graph), made, graph)
    print(f"pages: {index.relative_to(root)} ({len(reports)} reports)", file=sys.stderr)
    if open_it:
        webbrowser.open(index.as_uri())
    return 0


def list_graph(root: Path, out: Path) -> list[GraphEntry]:
    """List all stages by flow and entry, as `benchloom status` does, with their cost.

    `out`: the page's file; links to artifacts are relative to it.
    """
    recorder = open_recorder(root)
    try:
        groups = defaultdict[StageGroup, list[GraphStage]](list)
        counts = KeptCounts(root)
        for node in recorder.nodes.values():
            groups[find_entry(node)].append(describe_stage(recorder, node, counts, out))
        counts.keep()
    finally:
        recorder.close()
    ordered = sorted(groups.items(), key=lambda item: (item[0].flow == OWN, item[0].flow, item[0].section))
    return [GraphEntry(group.flow, group.describe(), stages) for group, stages in ordered]


def describe_stage(recorder: Recorder, node: Node, counts: KeptCounts, out: Path) -> GraphStage:
    """Return a stage's description for the page of the graph."""
    stage_status = find_stage_status(recorder, node, counts)
    last = load_outcome(recorder.root, node.name)
    time = find_last_time(recorder.root, node.name)
    target = recorder.root / stage_status.artifact
    page = target / PAGE if (target / PAGE).is_file() else target
    is_there = bool(stage_status.artifact) and page.exists()
    return GraphStage(
        name=node.name,
        stage=node.stage or node.name,
        state=stage_status.state,
        why=join_reasons(stage_status.why),
        artifact=stage_status.artifact,
        link=Path(os.path.relpath(page, out.parent)).as_posix() if is_there else "",
        rows=stage_status.rows,
        dropped=sum(stage_status.dropped.values()),
        tokens=last.prompt_tokens + last.completion_tokens if last else None,
        usd=last.usd if last else None,
        last_run=tell_time(time) if time else "",
        seconds=last.seconds if last and last.state == "ran" else None,
        upstream=node.upstream,
        again=stage_status.again,
    )


def tell_time(seconds: float) -> str:
    """Format a time in the local time zone, to the minute."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")  # noqa: DTZ006 - local time for people
