"""Write a lineage page: a single, self-contained HTML file with the lineage tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from tasks.files import write_text
from tasks.lineage.nodes import LineageNode, count_kinds
from tasks.lineage.rendering import name_node, render_text
from tasks.lineage.result import LineageResult
from tasks.reports.embed import encode_json
from tasks.reports.frame import render_alone
from tasks.reports.places import link_home

NODES = 1_000
"""Maximum number of nodes on a page.

The page shows the first nodes of the trace, and states the number of omitted nodes.
"""
TEXT = 4_000
"""Maximum number of characters per text."""
ITEMS = 200
"""Maximum number of entries per list, such as the ids of a figure's rows."""
PLAIN = 60_000
"""Maximum number of characters of the fallback text for browsers without scripts."""
STYLES = ("report.css", "lineage.css")
SCRIPTS = ("core.js", "lineage.js")


@dataclass(frozen=True)
class LineagePage:
    """The content of a lineage page.

    left_out: number of omitted nodes. plain: the fallback text for browsers without scripts.
    """

    lineage: LineageResult
    counts: Mapping[str, int]
    left_out: int
    plain: str
    data: Markup


@dataclass(frozen=True)
class ShownNode:
    """A node in the format of pages/lineage.js.

    `parents`: indexes of the parents on the page. `cut`: number of parents that are not on the page.
    """

    kind: str
    reference: str
    name: str
    summary: object
    parents: list[int]
    cut: int


def write_lineage(lineage: LineageResult, out: Path) -> None:
    """Write a lineage page to the file `out`, with limits on nodes, lists and texts."""
    shown = lineage.nodes[:NODES]
    numbers = {node.key: number for number, node in enumerate(shown)}
    data = {
        "roots": [numbers[root.key] for root in lineage.roots if root.key in numbers],
        "nodes": [_show_node(node, numbers) for node in shown],
    }
    content = LineagePage(
        lineage,
        count_kinds(lineage.nodes),
        len(lineage.nodes) - len(shown),
        render_text(lineage)[:PLAIN],
        Markup(encode_json(data)),  # noqa: S704 - encode_json escapes all characters that could close the tag
    )
    page = render_alone("lineage.html", content, home=link_home(out), styles=STYLES, scripts=SCRIPTS)
    write_text(out, page)


def _show_node(node: LineageNode, numbers: Mapping[tuple[str, str], int]) -> ShownNode:
    return ShownNode(
        kind=node.kind,
        reference=node.reference,
        name=name_node(node).removeprefix(f"{node.kind} "),
        summary=_truncate(node.summary),
        parents=[numbers[parent.key] for parent in node.parents if parent.key in numbers],
        cut=sum(parent.key not in numbers for parent in node.parents),
    )


def _truncate(value: object) -> object:
    """Truncate long texts and lists recursively; append the number of omitted characters or entries."""
    if isinstance(value, str) and len(value) > TEXT:
        return f"{value[:TEXT]}… ({len(value) - TEXT:,} characters more)"
    if isinstance(value, Mapping):
        return {str(name): _truncate(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        kept = [_truncate(item) for item in value[:ITEMS]]
        return [*kept, f"and {len(value) - ITEMS:,} more"] if len(value) > ITEMS else kept
    return value
