"""Generate the blocks of dvc.yaml from the flows' declarations, the stages' signatures and their imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.code import TASKS, Code, find_function, find_module, list_pins, to_path
from flows.discovery import list_flows
from flows.presets import TABLE as PRESET_TABLE
from flows.presets import list_cells
from flows.stage import (
    BASELINES,
    EVALUATION,
    FIGURES,
    KEY,
    LIST_ANSWERED,
    LIST_SCORED,
    PAGES,
    Flow,
    Scope,
    Stage,
    name_argument,
)
from tasks.errors import BadInput

if TYPE_CHECKING:
    from flows.run.node import Node

FROM_PARAMS = frozenset(
    {"params", "ask", "database", "settings", "limit", "out", "system", "systems", "entry", "key", *FIGURES}
)
"""Arguments of stages that are not artifacts (flows/run/binding.py)."""
EVALUATED = "evaluated"
"""The argument that receives the scored answers of the stage's `Scope` (flows/run/evaluated.py)."""
SYSTEMS = ("tasks/systems/own", "tasks/systems/prompts")
"""Folders in which users' own systems are found by name; stages that call systems depend on both folders."""
PLOTS = {
    "bars": {"template": "bars", "x": "value", "y": "name"},
    "lines": {"template": "lines", "x": "step", "y": "value"},
}
"""DVC's plot settings for the files of figures, which use the templates in .dvc/plots."""


@dataclass(frozen=True)
class Declared:
    """A declared stage with information from its code: module, arguments and return annotation."""

    stage: Stage
    module: str
    arguments: Mapping[str, str]
    """Name -> annotation as written in the code."""
    returns: str

    @property
    def start(self) -> tuple[str, str]:
        """The stage's module and the name of its function."""
        return self.module, self.stage.function

    @property
    def asks(self) -> bool:
        """Whether the stage calls a model or a system."""
        return "ask" in self.arguments

    @property
    def writes(self) -> bool:
        """Whether the function writes an artifact: true for a stage, false for a function that only reads."""
        return "out" in self.arguments or self.returns.startswith("Drafts[")

    @property
    def outs(self) -> tuple[str, ...]:
        """The paths that the stage writes. Raises BadInput if signature and declaration do not match."""
        stage, folder = self.stage, self.stage.scope.folder
        if "out" in self.arguments:
            if not stage.out:
                raise self.refuse('writes `out` itself, so its declaration must contain out="..."')
            out = stage.out if stage.out.startswith("data/") else f"{folder}/{stage.out}"
            return (out, *(self._place_figures(name, out) for name in FIGURES if name in self.arguments))
        if not self.returns.startswith("Drafts["):
            raise self.refuse("must return Drafts[Row] or have an argument `out`")
        stem = f"{folder}/{stage.artifact or stage.function}"
        dropped = (f"{stem}.dropped.parquet",) if stage.drops else ()
        calls = (f"{stem}.calls.parquet",) if self.asks else ()
        return (f"{stem}.parquet", *dropped, *calls)

    def _place_figures(self, name: str, out: str) -> str:
        """Return the folder for a page's figures. Raises BadInput if `out` is not the path of a page."""
        if not out.startswith(f"{PAGES}/"):
            raise self.refuse(
                f"writes {name!r}, but only a page may write figures: out must be {PAGES}/FLOW/NAME"
            )
        return FIGURES[name] + out.removeprefix(PAGES)

    def refuse(self, what: str) -> BadInput:
        """Make the error for an invalid stage, with the path of its module."""
        return BadInput(to_path(self.module), f"stage {self.stage.name} {what}")


def is_declaring(root: Path) -> bool:
    """Return whether a folder contains flows, so that its graph can be generated from code."""
    return (root / "flows" / "stage.py").is_file()


class DeclaredGraph:
    """Makes the dvc.yaml blocks of all declared stages. Raises BadInput if code and declarations disagree."""

    def __init__(self, root: Path, flows: Sequence[Flow] | None = None) -> None:
        self.root, self.code = root, Code(root)
        self.flows = tuple(list_flows() if flows is None else flows)
        stages = [stage for flow in self.flows for stage in flow.stages]
        names = [stage.name for stage in stages]
        self.declared = {stage.name: self._read(stage, names) for stage in stages}

    def _read(self, stage: Stage, names: Sequence[str]) -> Declared:
        module = find_module(stage.name, self.root, names)
        function = find_function(self.root / to_path(module), stage.function)
        if function is None:
            raise BadInput(to_path(module), f"has no function {stage.function!r}")
        arguments = {
            argument.arg: ast.unparse(argument.annotation) if argument.annotation else ""
            for argument in (*function.args.args, *function.args.kwonlyargs)
        }
        return Declared(stage, module, arguments, ast.unparse(function.returns) if function.returns else "")

    def make_blocks(self, params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Make the blocks of all stages, in order, except stages whose section `when` is not in `params`."""
        shown = [
            declared for declared in self.declared.values() if declared.stage.scope.when in ("", *params)
        ]
        for declared in shown:
            _require_section(params, declared.stage)
        return {declared.stage.block: self.make_block(declared, params) for declared in shown}

    def list_shown(self) -> dict[str, list[Any]]:
        """Return the sections `metrics` and `plots` of dvc.yaml: the report files that DVC shows."""
        written = {
            name for declared in self.declared.values() for name in declared.arguments if name in FIGURES
        }
        return {
            "metrics": [FIGURES[name] for name in ("metrics",) if name in written],
            "plots": [{FIGURES[name]: dict(PLOTS[name])} for name in PLOTS if name in written],
        }

    def make_block(self, own: Declared, params: Mapping[str, Any]) -> dict[str, Any]:
        """Make one stage's block: its command, dependencies, parameters and outputs."""
        stage, over = own.stage, own.stage.scope.over
        data, modules, code = self._list_deps(own)
        names = self._list_params(own)
        cells = list_cells(params, names) if (self.root / PRESET_TABLE).is_file() else []
        work = {
            "cmd": f"benchloom stage {stage.name}" + (" ${key}" if over else ""),
            "deps": [*data, *sorted(code - set(data))],
            "params": [
                *names,
                *([{PRESET_TABLE: cells}] if cells else []),
                {"pyproject.toml": list_pins(modules)},
            ],
            "outs": list(own.outs),
        }
        return {"foreach": f"${{{over}}}", "do": work} if over else work

    def list_code(self, name: str) -> list[str]:
        """List a stage's code files, prompts and page files, sorted."""
        data, _, code = self._list_deps(self.declared[name])
        return sorted({*code, *(path for path in data if path.startswith(f"{TASKS}/"))})

    def _list_deps(self, own: Declared) -> tuple[list[str], set[str], set[str]]:
        """Return a stage's data dependencies, the modules that it uses, and its code files."""
        data = self._list_data(own)
        folders = [path for path in data if path.startswith(f"{TASKS}/")]
        found = self.code.find_slice(self._list_starts(own), (*data, *own.outs), folders)
        code = {*map(to_path, found.modules), *self.code.list_pages(found), *self._list_prompts(own)}
        return data, found.modules, code

    def _list_starts(self, own: Declared) -> list[tuple[str, str]]:
        """List the functions that run for a stage, including the readers of scored answers, if any."""
        if EVALUATED not in own.arguments:
            return [own.start]
        evaluated = self.declared[own.stage.scope.evaluates]
        names = (LIST_SCORED, LIST_ANSWERED, *re.findall(r"\w+", evaluated.returns))
        return [own.start, *((evaluated.module, name) for name in names)]

    def make_node(self, name: str, key: str, entry: Mapping[str, Any]) -> Node:
        """Make the node of a stage for an entry that is not in params.yaml, without code dependencies."""
        return self._place(self.declared[name], key, entry)

    def place_reader(self, reader: Stage, key: str, entry: Mapping[str, Any]) -> Node:
        """Make a node for a function that reads artifacts of a `Scope` but is not a stage of the graph."""
        return self._place(self._read(reader, [reader.name]), key, entry)

    def _place(self, own: Declared, key: str, entry: Mapping[str, Any]) -> Node:
        from flows.run.node import PARAMS, Node

        def resolve(text: str) -> str:
            fields = {f"${{item.{field}}}": str(value) for field, value in entry.items()}
            for template, value in {KEY: key, **fields}.items():
                text = text.replace(template, value)
            return text

        return Node(
            name=f"{own.stage.block}@{key[:8]}",
            stage=own.stage.name,
            key=key,
            deps=tuple(map(resolve, self._list_data(own))),
            outs=tuple(map(resolve, own.outs if own.writes else ())),
            upstream=(),
            settings={PARAMS: tuple(map(resolve, self._list_params(own)))},
        )

    def _list_data(self, own: Declared) -> list[str]:
        """List the files that a stage reads: artifacts, accompanying files, and the declaration's `reads`."""
        stage = own.stage
        reads = [read if "/" in read or "$" in read else self._find(own, read)[0] for read in stage.reads]
        named = {_name_read(read) for read in (*reads, *stage.covered)}
        artifacts, beside = [], []
        for name, annotation in own.arguments.items():
            if name in FROM_PARAMS or name in named:
                continue
            if name == EVALUATED:
                artifacts += [self._find(own, artifact)[0] for artifact in self._list_evaluated(own)]
                continue
            path, *others = self._find(own, name)
            artifacts.append(path)
            if stage.beside and annotation == "Path":
                beside += others
        return list(dict.fromkeys([*artifacts, *beside, *reads]))

    def _list_evaluated(self, own: Declared) -> list[str]:
        """List the artifacts with the scored answers of a `Scope`. The artifact with scores comes first."""
        evaluated = self.declared.get(own.stage.scope.evaluates)
        if evaluated is None:
            raise own.refuse(
                f"has an argument {EVALUATED!r}, but its scope declares no stage with evaluates="
            )
        written = evaluated.stage.artifact or evaluated.stage.function
        list_answered = find_function(self.root / to_path(evaluated.module), LIST_ANSWERED)
        names = [argument.arg for argument in list_answered.args.args] if list_answered else []
        return list(
            dict.fromkeys(
                [written, *(written if name == evaluated.stage.function else name for name in names)]
            )
        )

    def _find(self, own: Declared, name: str) -> tuple[str, ...]:
        """Return the paths of an argument's artifact and its accompanying files.

        The stage's `Scope` is searched first, then the scopes in `looks_in`. Raises BadInput if no scope
        contains the artifact.
        """
        there: set[str] = set()
        for scope in (own.stage.scope, *own.stage.scope.looks_in):
            found = self._list_artifacts(scope, besides=own)
            if name in found:
                return found[name]
            there.update(found)
        raise own.refuse(
            f"has an argument {name!r} that is not an artifact of its scope or of a scope that it may read, "
            f"and not a declared file (known: {', '.join(sorted(there)) or 'none'})"
        )

    def _list_artifacts(self, scope: Scope, besides: Declared) -> dict[str, tuple[str, ...]]:
        """Map the argument name of each output of a `Scope` to its path and its accompanying files.

        `besides`: a stage whose outputs are omitted.
        """
        found: dict[str, tuple[str, ...]] = {}
        for other in self.declared.values():
            folder = other.stage.scope.folder
            if other is besides or other.stage.scope.over != scope.over:
                continue
            outs = [
                scope.folder + out.removeprefix(folder) for out in other.outs if out.startswith(f"{folder}/")
            ]
            for place, out in enumerate(outs):
                found[name_argument(out)] = (out, *(outs[1:] if place == 0 else ()))
        return found

    def _list_prompts(self, own: Declared) -> list[str]:
        """List the paths of a stage's prompts and, if the stage calls systems, the folders in SYSTEMS."""
        stage = own.stage
        folder = f"{TASKS}/{stage.paper}/prompts"
        paths = [f"{folder}/{name[:-2] if name.endswith('/*') else f'{name}.md'}" for name in stage.prompts]
        for path in paths:
            if not (self.root / path).exists():
                raise own.refuse(f"is declared to use the prompt {path}, which does not exist")
        if stage.prompts and not own.asks:
            raise own.refuse("declares prompts, but has no argument `ask`")
        return [*paths, *(SYSTEMS if _asks_systems(own) else ())]

    def _list_params(self, own: Declared) -> list[str]:
        """List the sections of params.yaml that a stage depends on."""
        stage, scope = own.stage, own.stage.scope
        found = [stage.name] if "params" in own.arguments else []
        if "entry" in own.arguments:
            found.append(f"{scope.over}.${{key}}")
        found += stage.settings
        if "system" in own.arguments:
            found.append("systems.${item.system}")
        if "systems" in own.arguments:
            found.append("systems")
        found += ["roles"] if "*" in stage.roles else [f"roles.{role}" for role in stage.roles]
        if own.asks:
            found.append("models")
            if not stage.roles and "systems" not in own.arguments:
                raise own.refuse('asks a model, so its declaration must name the role: roles=("...",)')
            if scope.evaluates:
                found.append(BASELINES if stage.asks_once else EVALUATION)
        return _drop_covered(found)


def _require_section(params: Mapping[str, Any], stage: Stage) -> None:
    """Raise BadInput if params.yaml lacks the section that a stage runs over; an empty section is valid."""
    section: Any = params
    for name in stage.scope.over.split(".") if stage.scope.over else ():
        section = section.get(name) if isinstance(section, Mapping) else None
        if section is None:
            over = stage.scope.over
            raise BadInput(
                "params.yaml",
                f"has no section {over}, which stage {stage.name} fans out over",
                hint="add it; write {} for an empty section",
            )


def _asks_systems(own: Declared) -> bool:
    return "system" in own.arguments or "systems" in own.arguments


def _name_read(read: str) -> str:
    """Return the argument name for a file in `reads`; for `${item.documents}`, the name of the field."""
    if read.startswith("${item."):
        return read.removeprefix("${item.").removesuffix("}")
    return name_argument(read)


def _drop_covered(names: Iterable[str]) -> list[str]:
    """Remove duplicates, and each parameter whose section is also in the list."""
    unique = list(dict.fromkeys(names))
    return [name for name in unique if not any(name.startswith(f"{other}.") for other in unique)]
