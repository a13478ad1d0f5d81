"""A lineage as one page to walk: everything in it, nothing from elsewhere, and no bigger than it must be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tasks.files import write_text
from tasks.lineage.nodes import count_kinds
from tasks.lineage.rendering import name_node, render_text
from tasks.lineage.result import Trail
from tasks.reports.embed import encode_json
from tasks.reports.frame import render_alone

NODES = 1_000
"""Nodes on a page, in the order of the walk; the page says how many are left out."""
TEXT = 4_000
"""Characters of one text."""
ITEMS = 200
"""Entries of one list, such as the ids of a figure's rows."""
PLAIN = 60_000
"""Characters of the text that stands there for a reader without scripts."""
STYLES = ("report.css", "lineage.css")
SCRIPTS = ("core.js", "lineage.js")


def write_lineage(trail: Trail, out: Path) -> None:
    """Write a trail as the file `out`. Its size is bounded by the number of nodes, not by the artifacts."""
    shown = trail.nodes[:NODES]
    places = {(each.kind, each.reference): place for place, each in enumerate(shown)}
    data = {
        "roots": [places[each.kind, each.reference] for each in trail.roots if _is_in(each, places)],
        "nodes": [
            {
                "kind": each.kind,
                "reference": each.reference,
                "name": name_node(each).removeprefix(f"{each.kind} "),
                "summary": _cut(each.summary),
                "parents": [places[up.kind, up.reference] for up in each.parents if _is_in(up, places)],
                "cut": sum(not _is_in(up, places) for up in each.parents),
            }
            for each in shown
        ],
    }
    page = render_alone(
        "lineage.html",
        styles=STYLES,
        scripts=SCRIPTS,
        trail=trail,
        counts=count_kinds(trail.nodes),
        left_out=len(trail.nodes) - len(shown),
        plain=render_text(trail)[:PLAIN],
        data=Markup(encode_json(data)),  # noqa: S704 - it holds no character that could close the tag
    )
    write_text(out, page)


def _is_in(node: Any, places: Mapping[tuple[str, str], int]) -> bool:
    return (node.kind, node.reference) in places


def _cut(value: Any) -> Any:
    """Shorten texts and lists, saying so."""
    if isinstance(value, str) and len(value) > TEXT:
        return f"{value[:TEXT]}… ({len(value) - TEXT:,} characters more)"
    if isinstance(value, Mapping):
        return {str(name): _cut(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        kept = [_cut(each) for each in value[:ITEMS]]
        return [*kept, f"and {len(value) - ITEMS:,} more"] if len(value) > ITEMS else kept
    return value
