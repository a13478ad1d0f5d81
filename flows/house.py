"""Check that every paper has a flow, and that a flow declares every stage."""

from __future__ import annotations

import ast
from pathlib import Path

from flows.code import ROOMS, TASKS, find_function, to_module
from flows.graph import DeclaredGraph
from tasks.errors import BadInput


def check_papers(root: Path) -> None:
    """Raise BadInput if a package of tasks/ is neither a shared room nor has a flow."""
    for folder in sorted((root / TASKS).iterdir()):
        if not (folder / "__init__.py").is_file() or folder.name in ROOMS:
            continue
        if not (root / "flows" / f"{folder.name}.py").is_file():
            raise BadInput(
                f"{TASKS}/{folder.name}",
                f"has no flow: declare its stages in flows/{folder.name}.py",
                hint="or list it in flows/code.py: ROOMS, if papers stand on it",
            )


def check_undeclared(graph: DeclaredGraph) -> None:
    """Raise BadInput if modules look like stages but are not declared; it names all of them."""
    modules = {declared.module for declared in graph.declared.values()}
    lost = [
        place.relative_to(graph.root).as_posix()
        for flow in graph.flows
        for place in sorted((graph.root / TASKS / flow.name).rglob("*.py"))
        if _looks_like_stage(place) and to_module(place.relative_to(graph.root).as_posix()) not in modules
    ]
    if lost:
        raise BadInput(
            ", ".join(lost),
            "has a stage's function, and no flow declares it",
            hint="name it in its flow's page in flows/",
        )


def _looks_like_stage(path: Path) -> bool:
    """Return whether a module has a function of its own name that returns Drafts[...] or takes `out`."""
    function = find_function(path, path.stem)
    if function is None:
        return False
    returns = ast.unparse(function.returns) if function.returns else ""
    return returns.startswith("Drafts[") or any(argument.arg == "out" for argument in function.args.args)
