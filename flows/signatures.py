"""Check what a run would refuse of a stage, and its signature, declaration and parameters tell already."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from flows.code import find_function, to_path
from flows.graph import EVALUATED, FROM_PARAMS, Declared, DeclaredGraph
from tasks.errors import BadInput

FANNED_OUT = ("key", "entry", "database", "system")
"""Arguments that only a stage has whose scope fans out: they are its entry, or what the entry names."""
EMBED = "Embed"
"""The annotation of an `ask` by which a stage only embeds texts, so that no prompt is declared."""
FIELD = re.compile(r"\$\{(key|item\.[\w.]+)\}")


def check_signatures(graph: DeclaredGraph) -> None:
    """Raise BadInput where a stage's arguments could not be given, or its calls not be kept."""
    for own in graph.declared.values():
        for problem in (*_check_arguments(own), *_check_asking(own), *_check_splitting(own, graph)):
            raise own.refuse(problem)


def check_entries(graph: DeclaredGraph, params: Mapping[str, Any], blocks: Mapping[str, Any]) -> None:
    """Raise BadInput where params.yaml lacks a parameter of a stage, or an entry a field of its paths."""
    for own in graph.declared.values():
        block = blocks.get(own.stage.block)
        if block is None:
            continue
        over = own.stage.scope.over
        for key, entry in (find_value(params, over) or {}).items() if over else [("", None)]:
            _check_entry(own, key, entry, block.get("do", block), params)


def find_value(values: Any, name: str) -> Any:
    """Find a value by its dotted name. Raises KeyError."""
    for part in name.split("."):
        if not isinstance(values, Mapping):
            raise KeyError(name)
        values = values[part]
    return values


def _check_entry(own: Declared, key: str, entry: Any, work: Mapping[str, Any], params: Any) -> None:
    """Check the parameters and fields of a stage for one entry of the section that it fans out over."""
    names = [name for name in work["params"] if isinstance(name, str)]
    values = {"key": key}
    for field in {field for text in (*work["deps"], *work["outs"], *names) for field in FIELD.findall(text)}:
        try:
            values.setdefault(field, str(find_value({"item": entry, "key": key}, field)))
        except KeyError:
            raise BadInput(
                f"params.yaml: {own.stage.scope.over}.{key}",
                f"has no {field.removeprefix('item.')!r}, which the declaration of {own.stage.name} names",
                hint=f"add it to the entry, or correct ${{{field}}} in the flow's page",
            ) from None
    for name in (FIELD.sub(lambda found: values[found[1]], name) for name in names):
        try:
            find_value(params, name)
        except KeyError:
            raise BadInput(
                f"params.yaml: {name}", f"is missing, and {own.stage.name} depends on it", hint="add it"
            ) from None


def _check_arguments(own: Declared) -> Iterator[str]:
    """List arguments that nothing could be given for."""
    for name, annotation in own.arguments.items():
        if not annotation:
            yield f"has an argument {name!r} without a type: annotate it"
        if name in FANNED_OUT and not own.stage.scope.over:
            yield f"has an argument {name!r}, and its scope fans out over nothing: say over=... in the scope"
        if name in FROM_PARAMS or name == EVALUATED:
            continue
        if annotation != "Path" and not annotation.endswith("]"):
            yield (
                f"has an argument {name!r} of the type {annotation}, which no artifact is read as: make it "
                "list[Row], Iterable[Row] or Path"
            )


def _check_asking(own: Declared) -> Iterator[str]:
    """List why a stage's calls could not be kept, or a change of their prompts not be noticed."""
    if not own.asks:
        return
    if "out" in own.arguments:
        yield "asks, and writes `out` by itself, so that its calls are kept nowhere: return Drafts[Row]"
    systems = {"system", "systems"} & set(own.arguments)
    if not own.stage.prompts and not systems and own.arguments["ask"] != EMBED:
        yield (
            'asks, so its declaration must say by which prompts: prompts=("...",); where it only embeds '
            f"texts, annotate ask: {EMBED}"
        )


def _check_splitting(own: Declared, graph: DeclaredGraph) -> Iterator[str]:
    """List why a stage could not be split as its decorator says."""
    function = find_function(graph.root / to_path(own.module), own.stage.function)
    for decorator in function.decorator_list if function else ():
        if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "splits"):
            continue
        named = {keyword.arg: keyword.value for keyword in decorator.keywords}
        over = decorator.args[0] if decorator.args else named.get("over")
        if isinstance(over, ast.Constant) and over.value not in own.arguments:
            yield f"splits over {over.value!r}, which is none of its arguments"
        if own.asks or "out" in own.arguments:
            yield "splits, so it must ask no model, and return Drafts[Row]"
