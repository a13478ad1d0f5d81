"""Show a lineage: as a tree and lists for people, as one document for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tasks.lineage.nodes import Node, count_kinds
from tasks.lineage.result import Trail

VERSION = 1
"""Of the JSON document (docs/lineage.md); raised when a key changes its meaning or goes."""
WIDTH = 100
ROWS_DRAWN = 20
"""Rows of an answer, or items, that the text draws; the JSON holds all."""
IDS_SHOWN = 3
MADE = ("file", "stage")
"""Kinds that are listed below the tree of a row, once each, and not under every node."""
TOLD = {
    "figure": ("label", "value", "measure", "column"),
    "call": ("role", "model", "attempt", "epoch", "decoding", "text", "problem"),
    "source": ("row",),
    "raw": ("row",),
    "file": ("md5", "size", "now", "package"),
    "stage": ("command",),
    "prompt": ("commit",),
}
"""What one line says of a node; of a row, every column that is a text or a number."""


def render_text(trail: Trail) -> str:
    """Draw what was asked for and all it comes from; what was drawn once is only named the second time."""
    drawn: set[tuple[str, str]] = set()
    files_only = all(each.kind == "file" for each in trail.roots)
    lines: list[str] = []
    for each in trail.roots[:ROWS_DRAWN]:
        lines += _draw(each, "", "", drawn, () if files_only else MADE)
        lines += _tell_rows(each)
    if len(trail.roots) > ROWS_DRAWN:
        lines.append(f"and {len(trail.roots) - ROWS_DRAWN:,} more")
    lines += _tell_stages(trail)
    if not files_only:
        lines += _tell_files(trail)
    lines += trail.tell_commit()
    counts = ", ".join(f"{count:,} {kind}" for kind, count in count_kinds(trail.nodes).items())
    lines.append(f"{counts}; " + (f"{len(trail.gaps)} gaps:" if trail.gaps else "no gap"))
    lines += [f"gap: {clean(str(each))}" for each in trail.gaps]
    return "\n".join(lines)


def render_json(trail: Trail) -> str:
    """Write the lineage as one object (docs/lineage.md): its nodes name their parents, its gaps both ends."""
    return json.dumps(give_document(trail), ensure_ascii=False, indent=2, sort_keys=True)


def give_document(trail: Trail) -> dict[str, Any]:
    """Give what the JSON document holds."""
    graph = trail.graph
    return {
        "version": VERSION,
        "target": trail.target,
        "roots": [_point(each) for each in trail.roots],
        "commit": graph.commit if graph else None,
        "dirty": graph.dirty if graph else None,
        "uncommitted": list(graph.uncommitted) if graph else [],
        "recorded_in": graph.recorded_in if graph else None,
        "gaps": [{"at": each.at, "what": each.what, "hint": each.hint} for each in trail.gaps],
        "nodes": [
            {**_point(each), "summary": each.summary, "parents": [_point(up) for up in each.parents]}
            for each in trail.nodes
        ],
    }


def clean(text: str) -> str:
    """Take out what would drive the reader's terminal: a model's text may hold escape sequences."""
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))


def name_node(node: Node) -> str:
    """Name a node in a few words."""
    if node.kind == "call":
        return clean(f"call {node.reference[:12]}")
    if node.kind == "prompt":
        path, _, digest = node.reference.rpartition("@")
        return clean(f"prompt {path} {digest[:12]}")
    path, mark, rest = node.reference.partition("#")
    if node.kind in ("row", "source", "raw"):
        path = path.rpartition("/")[2].removesuffix(".parquet")
    return clean(f"{node.kind} {path}{mark}{rest}")


def _point(node: Node) -> dict[str, str]:
    return {"kind": node.kind, "reference": node.reference}


def _draw(
    node: Node, lead: str, under: str, drawn: set[tuple[str, str]], left_out: Iterable[str]
) -> Iterator[str]:
    key = (node.kind, node.reference)
    parents = [each for each in node.parents if each.kind not in left_out]
    if key in drawn and parents:
        yield f"{lead}{name_node(node)} (as above)"
        return
    drawn.add(key)
    yield f"{lead}{name_node(node)}{_tell(node)}"
    more = len(parents) - ROWS_DRAWN
    for number, parent in enumerate(parents[:ROWS_DRAWN], start=1):
        last = number == len(parents)
        first, then = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _draw(parent, under + first, under + then, drawn, left_out)
    if more > 0:
        yield f"{under}└─ and {more:,} more"


def _tell_rows(node: Node) -> Iterator[str]:
    """Name the rows that a figure was computed from."""
    if node.kind != "figure":
        return
    for part in node.summary["rows"]:
        where = " and ".join(f"{name} = {value}" for name, value in part["where"].items())
        some = ", ".join(part["ids"][:IDS_SHOWN]) + (", ..." if part["count"] > IDS_SHOWN else "")
        yield clean(
            f"from {part['count']:,} rows of {part['artifact']}" + (f" where {where}" if where else "")
        ) + (f": {some}" if some else "")
    if node.summary["again"] is not None:
        yield f"computed again from them: {node.summary['again']}"
    if sum(part["count"] for part in node.summary["rows"]) > 1:
        yield "walked on from the first of them; --row ID takes another, --all takes all"


def _tell_stages(trail: Trail) -> Iterator[str]:
    stages = list(trail.list_kind("stage"))
    if stages:
        yield "stages, by dvc.lock:"
    for each in stages:
        code = each.summary["code"]
        commits = sorted({file["commit"][:12] for file in code if file["commit"]})
        homeless = [file["path"] for file in code if not file["commit"]]
        yield f"  {each.reference}: {clean(each.summary['command'])}"
        yield f"    params {_shorten(json.dumps(each.summary['params'], ensure_ascii=False, sort_keys=True))}"
        yield (
            f"    code: {len(code)} files, last changed in {', '.join(commits[:4]) or 'no commit'}"
            + (f" and {len(commits) - 4} more" if len(commits) > 4 else "")
            + (
                f"; not committed: {', '.join(homeless[:4])}"
                if homeless and trail.graph and trail.graph.commit
                else ""
            )
        )


def _tell_files(trail: Trail) -> Iterator[str]:
    files = list(trail.list_kind("file"))
    if files:
        yield "files, by dvc.lock:"
    for each in files:
        made = "".join(f"  by {up.reference}" for up in each.parents)
        yield f"  {clean(each.reference)}{_tell(each)}{clean(made) and '  ' + clean(made)}"


def _tell(node: Node) -> str:
    names = TOLD.get(node.kind) or tuple(name for name in node.summary if name != "id")
    told = [f"{name}={_say(node.summary[name])}" for name in names if _is_said(node.summary, name)]
    return ("  " + "  ".join(told)) if told else ""


def _is_said(summary: Mapping[str, Any], name: str) -> bool:
    value = summary.get(name)
    if isinstance(value, Mapping):
        return bool(value)
    return (value == 0 and name == "value") or (
        isinstance(value, str | int | float) and value not in ("", 0, "same")
    )


def _say(value: object) -> str:
    if isinstance(value, Mapping):
        return _shorten(", ".join(f"{name} {each}" for name, each in value.items() if each is not None))
    return _shorten(value)


def _shorten(value: object) -> str:
    text = clean(str(value))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
