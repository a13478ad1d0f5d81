"""Find the code that determines a stage's output: modules, page templates and pinned packages.

DVC does not follow imports, so dvc.yaml lists the files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from flows.code_slices import EVERYTHING, CodeSlice, CodeSlices, Node
from tasks.errors import BadInput

TASKS = "tasks"
WRITER = "tasks.artifacts.parquet"
ASK = ("tasks.models.ask", "tasks.models.calls", "tasks.models.request_builder")
"""Modules that read and write artifacts and calls; a stage may depend on them without importing them."""
FRAME = "tasks/reports/pages"
SHARED_STAGES = ("evaluation_page",)
"""Stages that any paper may declare; their shared modules are in tasks/reports."""
PINS = {
    "tasks.artifacts.validation": "contracts",
    "tasks.english": "english",
    "tasks.sources.iso_names": "names",
    "tasks.streambench.solve.vector_memory": "retrieval",
    "tasks.systems.build": "retrieval",
    "tasks.tanq.solve.calculator": "calculator",
    "tasks.tanq.units": "units",
}
"""Module -> a table [tool.benchloom.*] of pyproject.toml.

The table pins the packages that affect the module's output.
"""
PAGE = re.compile(r"[a-z_]+\.(?:html|css|js)")
ROOMS = frozenset(
    {"artifacts", "databases", "judging", "lineage", "models", "reports", "scoring", "sources", "systems"}
)
"""Packages of tasks/ that papers share. Every other package implements a paper and must have a flow."""


@dataclass(frozen=True)
class Code:
    """The code of a project's stages. root: the project's folder."""

    root: Path

    @cached_property
    def slices(self) -> CodeSlices:
        """The definitions in tasks/, with the names that they use."""
        return CodeSlices(self.root, TASKS)

    def find_slice(
        self, starts: Iterable[Node], files: Iterable[str], folders: Iterable[str] = ()
    ) -> CodeSlice:
        """Find the definitions that determine the output of functions.

        `starts`: modules and names of the functions. `files`: the data files that the functions read and
        write. `folders`: code folders in which the functions find plug-ins by name. The slice includes the
        definitions that plug-ins use, but not the plug-ins themselves: a stage depends on each plug-in
        folder as a whole. A new file in the folder thus makes the stage stale without a change to dvc.yaml.
        """
        files = tuple(files)
        below = tuple(f"{to_module(folder)}." for folder in folders)
        plugged = {name for name in self.slices.modules if name.startswith(below)} if below else set()
        whole = {*plugged}
        if any(file.endswith(".parquet") for file in files):
            whole.add(WRITER)
        if any(file.endswith(".calls.parquet") for file in files):
            whole.update(ASK)
        return self.slices.cut([*starts, *((name, EVERYTHING) for name in whole)]).leave_out(plugged)

    def list_pages(self, code: CodeSlice) -> set[str]:
        """List the page files that a slice names, and the templates that these page files refer to."""
        found: set[str] = set()
        for module, text in code.texts:
            if PAGE.fullmatch(text):
                found |= self._find_page(text, (f"{TASKS}/{module.split('.')[1]}/pages", FRAME))
        return found

    def _find_page(self, name: str, folders: tuple[str, ...]) -> set[str]:
        """Return the paths of a page file and its templates; empty if no folder contains the file."""
        path = next((f"{folder}/{name}" for folder in folders if (self.root / folder / name).is_file()), None)
        if path is None:
            return set()
        below = _read_references(self.root / path) if name.endswith(".html") else ()
        return {path}.union(*(self._find_page(other, folders) for other in below))


def list_pins(modules: Iterable[str]) -> list[str]:
    """List the pyproject.toml tables that pin the packages affecting the modules' output."""
    modules = set(modules)
    return [
        "tool.benchloom.bytes",
        *sorted({f"tool.benchloom.{PINS[name]}" for name in PINS if name in modules}),
    ]


def find_module(stage: str, root: Path, others: Iterable[str] = ()) -> str:
    """Find a stage's module: for `grammar.schema`, the only module named `schema` below tasks/grammar.

    If the paper has no such module, the stage may be a shared stage (`SHARED_STAGES`). `others`: names of all
    stages. A module with the full name of another stage is ignored. Raises BadInput unless exactly one module
    matches.
    """
    paper, _, rest = stage.partition(".")
    exact = f"{TASKS}/{paper}/{rest.replace('.', '/')}.py"
    if (root / exact).is_file():
        return to_module(exact)
    taken = {f"{TASKS}.{other}" for other in others if other != stage}
    places = (root / TASKS / paper).rglob(f"{stage.rpartition('.')[2]}.py")
    found = sorted({to_module(place.relative_to(root).as_posix()) for place in places} - taken)
    if not found and rest in SHARED_STAGES:
        return f"{TASKS}.reports.{rest}"
    if len(found) != 1:
        there = f"known: {' and '.join(map(to_path, found))}" if found else f"there is no {exact}"
        raise BadInput(
            f"stage {stage}",
            f"needs exactly one module named {stage.rpartition('.')[2]!r} under {TASKS}/{paper}; {there}",
        )
    return found[0]


def find_function(path: Path, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Find a top-level function of a module, without importing the module."""
    return _find_function(path, path.stat().st_mtime_ns, name)


@cache
def _find_function(path: Path, changed: int, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Find a top-level function.

    The cache key includes the modification time, so an edited module is parsed again.
    """
    nodes = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return next((function for function in functions if function.name == name), None)


def has_name(path: Path, name: str) -> bool:
    """Return whether a module defines a top-level function of a given name, or imports that name."""
    nodes = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
    taken = (alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names)
    return find_function(path, name) is not None or any(
        name == (alias.asname or alias.name) for alias in taken
    )


def to_path(module: str) -> str:
    """Convert a module's name to its file's path."""
    return f"{module.replace('.', '/')}.py"


def to_module(path: str) -> str:
    """Convert a file's path to its module's name."""
    return path.removesuffix(".py").replace("/", ".")


@cache
def _read_references(path: Path) -> tuple[str, ...]:
    """List the templates that a template extends, includes or imports."""
    from jinja2 import Environment
    from jinja2.meta import find_referenced_templates

    tree = Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))
    return tuple(sorted(name for name in find_referenced_templates(tree) if name))
