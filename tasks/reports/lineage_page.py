"""The page of a lineage: one file that holds its tree and loads nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from tasks.files import write_text
from tasks.lineage.nodes import LineageNode, count_kinds
from tasks.lineage.rendering import name_node, render_text
from tasks.lineage.result import LineageResult
from tasks.reports.embed import encode_json
from tasks.reports.frame import render_alone

NODES = 1_000
"""Nodes on a page, in the order of the walk; the page says how many are left out."""
TEXT = 4_000
"""Characters of one text."""
ITEMS = 200
"""Entries of one list, such as the ids of a figure's rows."""
PLAIN = 60_000
"""Characters of the text for a reader without scripts."""
STYLES = ("report.css", "lineage.css")
SCRIPTS = ("core.js", "lineage.js")


def write_lineage(lineage: LineageResult, out: Path) -> None:
    """Write a lineage's page to the file `out`; nodes, lists and texts beyond the limits above are cut."""
    shown = lineage.nodes[:NODES]
    numbers = {node.key: number for number, node in enumerate(shown)}
    data = {
        "roots": [numbers[root.key] for root in lineage.roots if root.key in numbers],
        "nodes": [_show_node(node, numbers) for node in shown],
    }
    page = render_alone(
        "lineage.html",
        styles=STYLES,
        scripts=SCRIPTS,
        lineage=lineage,
        counts=count_kinds(lineage.nodes),
        left_out=len(lineage.nodes) - len(shown),
        plain=render_text(lineage)[:PLAIN],
        data=Markup(encode_json(data)),  # noqa: S704 - it holds no character that could close the tag
    )
    write_text(out, page)


def _show_node(node: LineageNode, numbers: Mapping[tuple[str, str], int]) -> dict[str, object]:
    return {
        "kind": node.kind,
        "reference": node.reference,
        "name": name_node(node).removeprefix(f"{node.kind} "),
        "summary": _truncate(node.summary),
        "parents": [numbers[parent.key] for parent in node.parents if parent.key in numbers],
        "cut": sum(parent.key not in numbers for parent in node.parents),
    }


def _truncate(value: object) -> object:
    """Cut long texts and lists, however deep they lie, and say by how much."""
    if isinstance(value, str) and len(value) > TEXT:
        return f"{value[:TEXT]}… ({len(value) - TEXT:,} characters more)"
    if isinstance(value, Mapping):
        return {str(name): _truncate(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        kept = [_truncate(item) for item in value[:ITEMS]]
        return [*kept, f"and {len(value) - ITEMS:,} more"] if len(value) > ITEMS else kept
    return value
