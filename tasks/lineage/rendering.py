"""Render a lineage as text (a tree and lists) or as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from tasks.lineage.nodes import CodeFile, FigureRows, LineageNode, count_kinds
from tasks.lineage.result import LineageResult
from tasks.lines import clean

VERSION = 1
"""Version of the JSON document (docs/lineage.md); incremented when a key is removed or changes meaning."""
WIDTH = 100
"""Maximum number of characters shown per value."""
PARENTS_DRAWN = 20
"""Maximum number of roots, and of parents per node, in the text; the JSON document contains all nodes."""
IDS_SHOWN = 3
"""Maximum number of row ids that one line shows."""
COMMITS_SHOWN = 4
"""Maximum number of code commits, or of uncommitted files, that one line shows."""
LISTED_KINDS = ("file", "stage")
"""Kinds of nodes that are listed once below a row's tree, instead of under every node."""
SHOWN_FIELDS = {
    "figure": ("label", "value", "measure", "column"),
    "call": ("role", "model", "attempt", "epoch", "decoding", "text", "problem"),
    "source": ("row",),
    "raw": ("row",),
    "file": ("md5", "size", "now", "package"),
    "stage": ("command",),
    "prompt": ("commit",),
}
"""Map kinds of nodes to the summary fields that a node's line shows.

For other kinds, the line shows all texts and numbers of the summary.
"""


def render_text(lineage: LineageResult) -> str:
    """Draw the tree of the roots and their ancestors; repeated nodes appear without their ancestors."""
    drawn: set[tuple[str, str]] = set()
    files_only = all(root.kind == "file" for root in lineage.roots)
    lines: list[str] = []
    for root in lineage.roots[:PARENTS_DRAWN]:
        lines += _draw_tree(root, "", "", drawn, () if files_only else LISTED_KINDS)
        lines += _list_figure_rows(root)
    if len(lineage.roots) > PARENTS_DRAWN:
        lines.append(f"and {len(lineage.roots) - PARENTS_DRAWN:,} more")
    lines += _list_stages(lineage)
    if not files_only:
        lines += _list_files(lineage)
    lines += lineage.describe_commit()
    counts = ", ".join(f"{count:,} {kind}" for kind, count in count_kinds(lineage.nodes).items())
    lines.append(f"{counts}; " + (f"{len(lineage.gaps)} gaps:" if lineage.gaps else "no gap"))
    lines += [f"gap: {clean(str(gap))}" for gap in lineage.gaps]
    return "\n".join(lines)


def render_json(lineage: LineageResult) -> str:
    """Return the lineage as the text of one JSON object (docs/lineage.md)."""
    return json.dumps(make_document(lineage), ensure_ascii=False, indent=2, sort_keys=True)


def make_document(lineage: LineageResult) -> dict[str, object]:
    """Build the JSON document: nodes refer to their parents by key, and each gap names its node in `at`."""
    graph = lineage.graph
    return {
        "version": VERSION,
        "target": lineage.target,
        "roots": [_refer_to(root) for root in lineage.roots],
        "commit": graph.commit if graph else None,
        "dirty": graph.dirty if graph else None,
        # Git allows file names that are not UTF-8, but a JSON document must be UTF-8.
        "uncommitted": [
            name.encode(errors="backslashreplace").decode() for name in (graph.uncommitted if graph else ())
        ],
        "recorded_in": graph.recorded_in if graph else None,
        "gaps": [{"at": gap.at, "what": gap.what, "hint": gap.hint} for gap in lineage.gaps],
        "nodes": [
            {
                **_refer_to(node),
                "summary": node.summary,
                "parents": [_refer_to(parent) for parent in node.parents],
            }
            for node in lineage.nodes
        ],
    }


def name_node(node: LineageNode) -> str:
    """Return the kind of a node and a short form of its reference, as one text."""
    if node.kind == "call":
        return clean(f"call {node.reference[:12]}")
    if node.kind == "prompt":
        path, _, digest = node.reference.rpartition("@")
        return clean(f"prompt {path} {digest[:12]}")
    path, mark, rest = node.reference.partition("#")
    if node.kind in ("row", "source", "raw"):
        path = path.rpartition("/")[2].removesuffix(".parquet")
    return clean(f"{node.kind} {path}{mark}{rest}")


def _refer_to(node: LineageNode) -> dict[str, str]:
    return {"kind": node.kind, "reference": node.reference}


def _draw_tree(
    node: LineageNode, lead: str, indent: str, drawn: set[tuple[str, str]], left_out: Iterable[str]
) -> Iterator[str]:
    """Draw a node and its ancestors.

    `lead`: prefix of the node's line. `indent`: prefix of the parents' lines. `drawn`: keys of the nodes that
    are already drawn. `left_out`: kinds of parents that are not drawn.
    """
    parents = [parent for parent in node.parents if parent.kind not in left_out]
    if node.key in drawn and parents:
        yield f"{lead}{name_node(node)} (as above)"
        return
    drawn.add(node.key)
    yield f"{lead}{name_node(node)}{_show_summary(node)}"
    more = len(parents) - PARENTS_DRAWN
    for number, parent in enumerate(parents[:PARENTS_DRAWN], start=1):
        last = number == len(parents)
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _draw_tree(parent, indent + branch, indent + below, drawn, left_out)
    if more > 0:
        yield f"{indent}└─ and {more:,} more"


def _list_figure_rows(node: LineageNode) -> Iterator[str]:
    """List a figure's source rows, one line per artifact."""
    if node.kind != "figure":
        return
    parts = cast("list[FigureRows]", node.summary["rows"])
    for part in parts:
        where = " and ".join(f"{name} = {value}" for name, value in part["where"].items())
        some = ", ".join(part["ids"][:IDS_SHOWN]) + (", ..." if part["count"] > IDS_SHOWN else "")
        yield clean(
            f"from {part['count']:,} rows of {part['artifact']}" + (f" where {where}" if where else "")
        ) + (f": {some}" if some else "")
    if node.summary["again"] is not None:
        yield f"recomputed from these rows: {node.summary['again']}"
    if sum(part["count"] for part in parts) > 1:
        yield (
            "only the first of these rows is traced further; --row ID traces another row, --all "
            "traces all rows"
        )


def _list_stages(lineage: LineageResult) -> Iterator[str]:
    stages = list(lineage.list_kind("stage"))
    if stages:
        yield "stages in dvc.lock:"
    for stage in stages:
        code = cast("list[CodeFile]", stage.summary["code"])
        commits = sorted({file["commit"][:12] for file in code if file["commit"]})
        uncommitted = [file["path"] for file in code if not file["commit"]]
        params = json.dumps(stage.summary["params"], ensure_ascii=False, sort_keys=True)
        yield f"  {stage.reference}: {clean(str(stage.summary['command']))}"
        yield f"    params {_shorten(params)}"
        yield (
            f"    code: {len(code)} files, last changed in "
            + (", ".join(commits[:COMMITS_SHOWN]) or "no commit")
            + (f" and {len(commits) - COMMITS_SHOWN} more" if len(commits) > COMMITS_SHOWN else "")
            + (
                f"; not committed: {', '.join(uncommitted[:COMMITS_SHOWN])}"
                if uncommitted and lineage.graph and lineage.graph.commit
                else ""
            )
        )


def _list_files(lineage: LineageResult) -> Iterator[str]:
    files = list(lineage.list_kind("file"))
    if files:
        yield "files in dvc.lock:"
    for file in files:
        writers = "".join(f"  by {stage.reference}" for stage in file.parents)
        yield f"  {clean(file.reference)}{_show_summary(file)}{clean(writers) and '  ' + clean(writers)}"


def _show_summary(node: LineageNode) -> str:
    names = SHOWN_FIELDS.get(node.kind) or tuple(name for name in node.summary if name != "id")
    fields = [f"{name}={_show_value(node.summary[name])}" for name in names if _is_shown(node.summary, name)]
    return ("  " + "  ".join(fields)) if fields else ""


def _is_shown(summary: Mapping[str, object], name: str) -> bool:
    value = summary.get(name)
    if isinstance(value, Mapping):
        return bool(value)
    return (value == 0 and name == "value") or (
        isinstance(value, str | int | float) and value not in ("", 0, "same")
    )


def _show_value(value: object) -> str:
    if isinstance(value, Mapping):
        return _shorten(", ".join(f"{name} {item}" for name, item in value.items() if item is not None))
    return _shorten(value)


def _shorten(value: object) -> str:
    text = clean(str(value))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
