"""Read and write dvc.yaml: the generated blocks come first, then the user's blocks, unchanged."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from flows.declaration_checks import (
    check_entries,
    check_evaluations,
    check_pages,
    check_papers,
    check_signatures,
    check_undeclared,
)
from flows.graph import DeclaredGraph, is_declaring
from tasks.errors import BadInput
from tasks.files import write_text

DVC_YAML = "dvc.yaml"
HEAD = """\
# Written by `benchloom graph` from the declarations in flows/; do not edit it above the line at its end.
# `benchloom stage NAME [KEY]` calls the function of that name in tasks/, for one entry of params.yaml.
"""
SHOWN = ("metrics", "plots")
"""Generated sections of dvc.yaml besides `stages`: they list the report files that DVC shows."""
OWN = "# Stages of your own stand below this line; `benchloom graph` leaves them as they are."


def write_graph(root: Path, params: Mapping[str, Any]) -> bool:
    """Regenerate dvc.yaml, except the user's own blocks; return whether the file changed."""
    before, after = compare_graph(root, params)
    if before != after:
        write_text(root / DVC_YAML, after)
    return before != after


def compare_graph(root: Path, params: Mapping[str, Any]) -> tuple[str, str]:
    """Return the current text of dvc.yaml and the text that the declarations require.

    Raises BadInput if the code cannot be analysed, or if `params` has a key that no stage reads.
    """
    from flows.sections import check_names, check_params, find_sections

    path = root / DVC_YAML
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    check_papers(root)
    graph = DeclaredGraph(root)
    check_undeclared(graph)
    check_evaluations(graph)
    check_pages(graph)
    check_signatures(graph)
    check_names(params, graph)
    blocks = graph.make_blocks(params)
    try:
        check_entries(graph, params, blocks)
    except BadInput:
        check_params(params, find_sections(graph))  # names the line if a model rejects the key
        raise
    own = split_own(before, graph)
    if taken := next((name for name in SHOWN if re.search(rf"^{name}:", own, re.MULTILINE)), None):
        raise BadInput(
            path,
            f"has a section {taken} in the part for your own stages, but Benchloom generates this section",
            hint=f"declare the files as {taken} of the stage that writes them, or in another dvc.yaml",
        )
    return before, render_graph(blocks, own, graph.list_shown())


def require_graph(root: Path, params: Mapping[str, Any]) -> None:
    """Raise BadInput if dvc.yaml differs from the declarations, because a run could then miss a dependency.

    After a comparison without differences, later calls return immediately until the code, dvc.yaml or a
    parameter's name changes.
    """
    if not is_declaring(root):
        return
    seen = root / ".benchloom" / "graph.sha256"
    # Computed before the comparison, so that the next run notices an edit during the comparison.
    now = _fingerprint(root, params)
    if seen.is_file() and seen.read_text(encoding="utf-8") == now:
        return
    before, after = compare_graph(root, params)
    if before != after:
        raise BadInput(
            DVC_YAML,
            "differs from the flows' declarations",
            hint="run `benchloom graph` to regenerate the file",
        )
    write_text(seen, now)


def _fingerprint(root: Path, params: Mapping[str, Any]) -> str:
    """Hash the parameters' names, and the sizes and times of dvc.yaml and files in flows/ and tasks/."""
    files = [root / DVC_YAML, *(file for room in ("flows", "tasks") for file in (root / room).rglob("*.*"))]
    stats = [
        (file.relative_to(root).as_posix(), file.stat()) for file in sorted(files) if file.suffix != ".pyc"
    ]
    told = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return hashlib.sha256(repr((list_keys(params), told)).encode()).hexdigest()


def list_keys(params: Mapping[str, object], above: str = "") -> list[str]:
    """List the dotted names of all parameters, sorted."""
    found: list[str] = []
    for key, value in params.items():
        found.append(f"{above}{key}")
        if isinstance(value, Mapping):
            found += list_keys(value, f"{above}{key}.")
    return sorted(found)


def describe_difference(before: str, after: str, name: str = DVC_YAML) -> str:
    """Return the unified diff between two versions of a file."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), name, f"{name} as declared"
    )
    return "".join(lines)


def render_graph(
    blocks: Mapping[str, Mapping[str, Any]], own: str, shown: Mapping[str, Sequence[Any]]
) -> str:
    """Return the text of dvc.yaml: the declared blocks, then the user's own blocks.

    `shown`: section of dvc.yaml (`metrics` or `plots`) -> its report files.
    """
    texts = [_render({name: block}) for name, block in blocks.items()]
    head = HEAD + "".join(_render({name: paths}) for name, paths in shown.items() if paths)
    body = "\n".join("".join(f"  {line}\n" for line in text.splitlines()) for text in texts)
    if not body and not own:
        return f"{head}stages: {{}}\n"
    return f"{head}stages:\n{body}\n  {OWN}\n{own}"


def _render(data: Mapping[str, Any]) -> str:
    # By default, PyYAML would break lines at 80 characters.
    return yaml.dump(data, Dumper=IndentedDumper, sort_keys=False, width=1000)


def split_own(text: str, graph: DeclaredGraph) -> str:
    """Return the user's own blocks of dvc.yaml, unchanged, wherever they are in the file.

    A block that runs a stage of a declared paper is not the user's block: an older declaration generated the
    block.
    """
    lines = text.splitlines(keepends=True)
    start = next((place + 1 for place, line in enumerate(lines) if line.strip() == OWN), None)
    kept = "".join(lines[start:]) if start is not None else ""
    above = lines[: start - 1] if start is not None else lines
    papers = {declared.stage.paper for declared in graph.declared.values()}
    try:
        blocks = (yaml.safe_load("".join(above)) or {}).get("stages") or {}
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        hint = "correct the line, or restore the committed file: git checkout dvc.yaml"
        raise BadInput(f"{DVC_YAML}, line {line}", "is not valid YAML", hint=hint) from error
    for name, lines_of in _split_blocks(above):
        work = blocks[name].get("do", blocks[name])
        words = str(work.get("cmd", "")).split()
        ours = words[:2] == ["benchloom", "stage"] and len(words) > 2 and words[2].partition(".")[0] in papers
        if not ours:
            kept += ("\n" if kept else "") + "".join(lines_of).rstrip("\n") + "\n"
    return kept


def _split_blocks(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Split the lines below `stages:` into blocks by name; comments belong to the block that follows."""
    blocks: list[tuple[str, list[str]]] = []
    inside, waiting = False, list[str]()
    for line in lines:
        if not line.startswith((" ", "\n", "#")) and line.strip():
            inside = line.startswith("stages:")
            continue
        if not inside:
            continue
        if line.startswith("  ") and not line.startswith("   ") and not line.lstrip().startswith("#"):
            blocks.append((line.strip().partition(":")[0].strip("'\""), [*waiting, line]))
            waiting = []
        elif line.strip() and not line.lstrip().startswith("#") and blocks:
            blocks[-1][1].extend([*waiting, line])
            waiting = []
        else:
            waiting.append(line)
    return blocks


class IndentedDumper(yaml.SafeDumper):
    """Indents lists below their key, as hand-written YAML does, and writes no anchors."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the items of lists, too."""
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        """Return True, so that repeated values are written in full instead of as aliases."""
        return True
