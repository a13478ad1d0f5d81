"""Check that papers have flows, that all stages are declared, and that declarations are complete.

The checks report errors in a stage's signature, declaration or parameters before a run starts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from flows.code import ROOMS, TASKS, find_function, has_name, to_module, to_path
from flows.graph import EVALUATED, FROM_PARAMS, Declared, DeclaredGraph
from flows.stage import LIST_ANSWERED, LIST_SCORED, PAGES
from tasks.errors import BadInput

FLOWS = "flows"
PAGE_RECORD = "tasks.reports.record"
"""The module that writes a page's record. The front page reads all records."""
FANNED_OUT = ("key", "entry", "database", "system")
"""Arguments allowed only in stages that run once per entry of a section."""
EMBED = "Embed"
"""Annotation of the argument `ask` in a stage that only embeds texts and so declares no prompt."""
FIELD = re.compile(r"\$\{(key|item\.[\w.]+)\}")


def check_papers(root: Path) -> None:
    """Raise BadInput for a paper's package in tasks/ without a flow, or a flow without a package."""
    for folder in sorted((root / TASKS).iterdir()):
        if not (folder / "__init__.py").is_file() or folder.name in ROOMS:
            continue
        if not (root / "flows" / f"{folder.name}.py").is_file():
            raise BadInput(
                f"{TASKS}/{folder.name}",
                "has no flow",
                hint=f"declare its stages in flows/{folder.name}.py, or add it to ROOMS in flows/code.py",
            )
    for page in sorted((root / FLOWS).glob("*.py")):
        if _declares_flow(page) and not (root / TASKS / page.stem / "__init__.py").is_file():
            raise BadInput(
                f"{FLOWS}/{page.name}", f"declares a flow, but {TASKS}/{page.stem}/__init__.py does not exist"
            )


def check_undeclared(graph: DeclaredGraph) -> None:
    """Raise BadInput with the names of all modules that look like stages but are not declared."""
    modules = {declared.module for declared in graph.declared.values()}
    folders = {declared.stage.paper for declared in graph.declared.values()} | {
        flow.name for flow in graph.flows
    }
    lost = [
        place.relative_to(graph.root).as_posix()
        for folder in sorted(folders)
        for place in sorted((graph.root / TASKS / folder).rglob("*.py"))
        if _looks_like_stage(place) and to_module(place.relative_to(graph.root).as_posix()) not in modules
    ]
    if lost:
        raise BadInput(
            ", ".join(lost),
            "defines a stage's function, but no flow declares the stage",
            hint="declare it in the flow's module in flows/",
        )


def check_evaluations(graph: DeclaredGraph) -> None:
    """Raise BadInput if a scope (group of stages) that evaluates systems is declared incompletely.

    The stages that `evaluates` and `canaries` name must exist, and the evaluated stage's module must have the
    functions `list_scored` and `list_answered`.
    """
    for flow in graph.flows:
        for scope in flow.list_scopes():
            if not scope.evaluates:
                continue
            stage = flow.find(scope.evaluates)
            if stage is None or stage.scope.over != scope.over:
                raise BadInput(
                    f"{FLOWS}/{flow.name}.py",
                    f"evaluates={scope.evaluates!r} does not name a stage that runs over {scope.over}",
                )
            canaries = flow.find(scope.canaries)
            if scope.canaries and (canaries is None or canaries.scope.over != scope.over):
                raise BadInput(
                    f"{FLOWS}/{flow.name}.py",
                    f"canaries={scope.canaries!r} does not name a stage that runs over {scope.over}",
                )
            if scope.gold:
                graph.place_reader(scope.stage(scope.gold, reads=(*stage.reads, *stage.covered)), "", {})
            own = graph.declared[stage.name]
            for name in (LIST_SCORED, LIST_ANSWERED):
                if not has_name(graph.root / to_path(own.module), name):
                    raise own.refuse(f"is compared (evaluates=), but its module has no function {name!r}")


def check_pages(graph: DeclaredGraph) -> None:
    """Raise BadInput if a stage writes a page to a path where the front page does not look for pages."""
    for declared in graph.declared.values():
        if (
            "out" not in declared.arguments
            or PAGE_RECORD not in graph.code.find_slice([declared.start], declared.outs).modules
        ):
            continue
        out = PurePosixPath(declared.outs[0])
        if out.parent.parent != PurePosixPath(PAGES):
            raise declared.refuse(
                f"writes a page to {out}, which the front page does not list: out must be {PAGES}/FLOW/NAME"
            )


def _declares_flow(path: Path) -> bool:
    """Return whether a module creates a Flow at its top level."""
    values = (getattr(node, "value", None) for node in ast.parse(path.read_text(encoding="utf-8")).body)
    return any(isinstance(value, ast.Call) and ast.unparse(value.func) == "Flow" for value in values)


def _looks_like_stage(path: Path) -> bool:
    """Return whether a module's function of the same name returns Drafts[...] or has an argument `out`."""
    function = find_function(path, path.stem)
    if function is None:
        return False
    returns = ast.unparse(function.returns) if function.returns else ""
    return returns.startswith("Drafts[") or any(argument.arg == "out" for argument in function.args.args)


def check_signatures(graph: DeclaredGraph) -> None:
    """Raise BadInput if the arguments, model calls or splitting of a stage do not match its declaration."""
    for declared in graph.declared.values():
        for problem in (
            *_check_arguments(declared),
            *_check_asking(declared),
            *_check_splitting(declared, graph),
        ):
            raise declared.refuse(problem)


def check_entries(graph: DeclaredGraph, params: Mapping[str, Any], blocks: Mapping[str, Any]) -> None:
    """Raise BadInput if params.yaml lacks a stage's parameter, or an entry lacks a field used in paths."""
    for declared in graph.declared.values():
        block = blocks.get(declared.stage.block)
        if block is None:
            continue
        over = declared.stage.scope.over
        for key, entry in (find_value(params, over) or {}).items() if over else [("", None)]:
            _check_entry(declared, key, entry, block.get("do", block), params)


def find_value(values: Any, name: str) -> Any:
    """Return the value at a dotted name in nested mappings. Raises KeyError if there is none."""
    for part in name.split("."):
        if not isinstance(values, Mapping):
            raise KeyError(name)
        values = values[part]
    return values


def _check_entry(own: Declared, key: str, entry: Any, work: Mapping[str, Any], params: Any) -> None:
    """Raise BadInput if a field or parameter that a stage uses is missing for one entry of its section."""
    names = [name for name in work["params"] if isinstance(name, str)]
    values = {"key": key}
    for field in {field for text in (*work["deps"], *work["outs"], *names) for field in FIELD.findall(text)}:
        try:
            values.setdefault(field, str(find_value({"item": entry, "key": key}, field)))
        except KeyError:
            raise BadInput(
                f"params.yaml: {own.stage.scope.over}.{key}",
                f"has no field {field.removeprefix('item.')!r}, which the stage {own.stage.name} declares",
                hint=f"add it to the entry, or correct ${{{field}}} in the flow's module",
            ) from None
    for name in (FIELD.sub(lambda found: values[found[1]], name) for name in names):
        try:
            find_value(params, name)
        except KeyError:
            raise BadInput(
                f"params.yaml: {name}", f"is missing, but {own.stage.name} depends on it", hint="add it"
            ) from None


def _check_arguments(own: Declared) -> Iterator[str]:
    """Yield a message for each argument that has no source."""
    for name, annotation in own.arguments.items():
        if not annotation:
            yield f"has an argument {name!r} without a type: annotate it"
        if name in FANNED_OUT and not own.stage.scope.over:
            yield f"has an argument {name!r}, but its scope does not fan out: add over=... to the scope"
        if name in FROM_PARAMS or name == EVALUATED:
            continue
        if annotation != "Path" and not annotation.endswith("]"):
            yield (
                f"has an argument {name!r} of the type {annotation}, but artifacts are read only as "
                "list[Row], Iterable[Row] or Path: change the type"
            )


def _check_asking(own: Declared) -> Iterator[str]:
    """Yield messages if a stage's calls are not stored, or if changes to its prompts would go unnoticed."""
    if not own.asks:
        return
    if "out" in own.arguments:
        yield "asks a model and writes `out` itself, so its calls would not be recorded: return Drafts[Row]"
    systems = {"system", "systems"} & set(own.arguments)
    if not own.stage.prompts and not systems and own.arguments["ask"] != EMBED:
        yield (
            'asks a model, so its declaration must list its prompts: prompts=("...",); if it only embeds '
            f"texts, annotate ask: {EMBED}"
        )


def _check_splitting(own: Declared, graph: DeclaredGraph) -> Iterator[str]:
    """Yield messages if a stage cannot be split as its decorator declares."""
    function = find_function(graph.root / to_path(own.module), own.stage.function)
    for decorator in function.decorator_list if function else ():
        if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "splits"):
            continue
        named = {keyword.arg: keyword.value for keyword in decorator.keywords}
        over = decorator.args[0] if decorator.args else named.get("over")
        if isinstance(over, ast.Constant) and over.value not in own.arguments:
            yield f"splits over {over.value!r}, which is not one of its arguments"
        if own.asks or "out" in own.arguments:
            yield "splits, so it must not ask a model and must return Drafts[Row]"
