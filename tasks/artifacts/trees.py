"""Show a lineage: as a tree for people, as a flat graph for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tasks.artifacts.graph import Graph
from tasks.artifacts.lineage import Node, walk_nodes

WIDTH = 100
TOLD = {
    "call": ("role", "model", "stage", "attempt", "text", "problem"),
    "file": ("stage", "md5"),
}
"""What one line says of a node; of a row, every column that is a text."""


def render_text(node: Node, graph: Graph | None = None) -> str:
    """Draw a node and all it comes from; what was drawn once is only named the second time."""
    lines = [*_draw(node, "", "", set())]
    if graph and graph.commit:
        lines.append(
            f"commit {graph.commit}" + (" and changes that are not committed" if graph.dirty else "")
        )
    return "\n".join(lines)


def render_json(node: Node, graph: Graph | None = None) -> str:
    """Write the lineage as one object: `target`, `commit`, and `nodes` that name their parents."""
    nodes = [
        {
            "kind": each.kind,
            "reference": each.reference,
            "summary": each.summary,
            "parents": [{"kind": parent.kind, "reference": parent.reference} for parent in each.parents],
        }
        for each in walk_nodes(node)
    ]
    whole = {
        "target": node.reference,
        "commit": graph.commit if graph else None,
        "dirty": graph.dirty if graph else None,
        "nodes": nodes,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2, sort_keys=True)


def _draw(node: Node, lead: str, under: str, drawn: set[tuple[str, str]]) -> Iterator[str]:
    key = (node.kind, node.reference)
    if key in drawn and node.parents:
        yield f"{lead}{_name(node)} (as above)"
        return
    drawn.add(key)
    yield f"{lead}{_name(node)}{_tell(node)}"
    for number, parent in enumerate(node.parents, start=1):
        last = number == len(node.parents)
        yield from _draw(
            parent, under + ("└─ " if last else "├─ "), under + ("   " if last else "│  "), drawn
        )


def _name(node: Node) -> str:
    if node.kind == "call":
        return f"call {node.reference[:12]}"
    if node.kind == "prompt":
        name, _, digest = node.reference.partition("@")
        return f"prompt {name} {digest[:12]}"
    return f"{node.kind} {node.reference}"


def _tell(node: Node) -> str:
    names = TOLD.get(node.kind) or tuple(name for name in node.summary if name != "id")
    told = [f"{name}={_shorten(node.summary[name])}" for name in names if _is_said(node.summary, name)]
    return ("  " + "  ".join(told)) if told else ""


def _is_said(summary: Mapping[str, Any], name: str) -> bool:
    return isinstance(summary.get(name), str | int) and summary[name] not in ("", 0)


def _shorten(value: object) -> str:
    # A model's text may hold escape sequences that would drive the reader's terminal.
    text = "".join(each if each.isprintable() else " " for each in " ".join(str(value).split()))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
