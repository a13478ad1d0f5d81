"""Check that every paper has a flow, that a flow declares every stage, and that what it declares is whole."""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath

from flows.code import ROOMS, TASKS, find_function, has_name, to_module, to_path
from flows.graph import DeclaredGraph
from flows.stage import LIST_ANSWERED, LIST_SCORED, PAGES
from tasks.errors import BadInput

FLOWS = "flows"
PAGE_RECORD = "tasks.reports.record"
"""The module by which pages write their record, which the front page reads."""


def check_papers(root: Path) -> None:
    """Raise BadInput if a package of tasks/ is no shared room and has no flow, or a flow has no package."""
    for folder in sorted((root / TASKS).iterdir()):
        if not (folder / "__init__.py").is_file() or folder.name in ROOMS:
            continue
        if not (root / "flows" / f"{folder.name}.py").is_file():
            raise BadInput(
                f"{TASKS}/{folder.name}",
                f"has no flow: declare its stages in flows/{folder.name}.py",
                hint="or list it in flows/code.py: ROOMS, if papers stand on it",
            )
    for page in sorted((root / FLOWS).glob("*.py")):
        if _declares_flow(page) and not (root / TASKS / page.stem / "__init__.py").is_file():
            raise BadInput(
                f"{FLOWS}/{page.name}", f"declares a flow, and there is no {TASKS}/{page.stem}/__init__.py"
            )


def check_undeclared(graph: DeclaredGraph) -> None:
    """Raise BadInput if modules look like stages but are not declared; it names all of them."""
    modules = {declared.module for declared in graph.declared.values()}
    folders = {own.stage.paper for own in graph.declared.values()} | {flow.name for flow in graph.flows}
    lost = [
        place.relative_to(graph.root).as_posix()
        for folder in sorted(folders)
        for place in sorted((graph.root / TASKS / folder).rglob("*.py"))
        if _looks_like_stage(place) and to_module(place.relative_to(graph.root).as_posix()) not in modules
    ]
    if lost:
        raise BadInput(
            ", ".join(lost),
            "has a stage's function, and no flow declares it",
            hint="name it in its flow's page in flows/",
        )


def check_evaluations(graph: DeclaredGraph) -> None:
    """Raise BadInput if what a scope evaluates could not be compared: no stage, or no function for it."""
    for flow in graph.flows:
        for scope in flow.list_scopes():
            if not scope.evaluates:
                continue
            stage = flow.find(scope.evaluates)
            if stage is None or stage.scope.over != scope.over:
                raise BadInput(
                    f"{FLOWS}/{flow.name}.py",
                    f"evaluates={scope.evaluates!r} is no stage that runs over {scope.over}",
                )
            canaries = flow.find(scope.canaries)
            if scope.canaries and (canaries is None or canaries.scope.over != scope.over):
                raise BadInput(
                    f"{FLOWS}/{flow.name}.py",
                    f"canaries={scope.canaries!r} is no stage that runs over {scope.over}",
                )
            if scope.gold:
                graph.place_reader(scope.stage(scope.gold, reads=(*stage.reads, *stage.covered)), "", {})
            own = graph.declared[stage.name]
            for name in (LIST_SCORED, LIST_ANSWERED):
                if not has_name(graph.root / to_path(own.module), name):
                    raise own.refuse(
                        f"is what is compared (evaluates=), and its module has no function {name!r}"
                    )


def check_pages(graph: DeclaredGraph) -> None:
    """Raise BadInput if a stage writes a page where the front page does not look for it."""
    for own in graph.declared.values():
        if (
            "out" not in own.arguments
            or PAGE_RECORD not in graph.code.find_slice([own.start], own.outs).modules
        ):
            continue
        out = PurePosixPath(own.outs[0])
        if out.parent.parent != PurePosixPath(PAGES):
            raise own.refuse(
                f"writes a page to {out}, which is not on the front page: out must be {PAGES}/FLOW/NAME"
            )


def _declares_flow(path: Path) -> bool:
    """Return whether a module makes a Flow at its top, as a flow's page does."""
    values = (getattr(node, "value", None) for node in ast.parse(path.read_text(encoding="utf-8")).body)
    return any(isinstance(value, ast.Call) and ast.unparse(value.func) == "Flow" for value in values)


def _looks_like_stage(path: Path) -> bool:
    """Return whether a module has a function of its own name that returns Drafts[...] or takes `out`."""
    function = find_function(path, path.stem)
    if function is None:
        return False
    returns = ast.unparse(function.returns) if function.returns else ""
    return returns.startswith("Drafts[") or any(argument.arg == "out" for argument in function.args.args)
