"""Find the code that determines a stage's output: modules, page templates and pinned packages.

DVC does not follow imports, so dvc.yaml lists them all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tasks.errors import BadInput

TASKS = "tasks"
WRITER = "tasks.artifacts.parquet"
ASK = ("tasks.models.ask", "tasks.models.calls", "tasks.models.request_builder")
"""What stands between a stage and its artifact's bytes without being imported by it."""
FRAME = "tasks/reports/pages"
SHARED_STAGES = ("evaluation_page",)
"""Stages that any paper may declare without a module of its own: modules of tasks/reports."""
PINS = {
    "tasks.artifacts.validation": "contracts",
    "tasks.english": "english",
    "tasks.sources.iso_names": "names",
    "tasks.streambench.solve.vector_memory": "retrieval",
    "tasks.systems.build": "retrieval",
    "tasks.tanq.solve.calculator": "calculator",
    "tasks.tanq.units": "units",
}
"""Lists of packages in pyproject.toml ([tool.benchloom.*]) that shape the bytes of what imports a module."""
PAGE = re.compile(r"[a-z_]+\.(?:html|css|js)")
ROOMS = frozenset(
    {"artifacts", "databases", "judging", "lineage", "models", "reports", "scoring", "sources", "systems"}
)
"""Packages of tasks/ that papers stand on; every other one is a paper and must have a flow."""


@dataclass(frozen=True)
class Code:
    """The code of a project's stages. root: the project's folder."""

    root: Path

    @cached_property
    def imports(self) -> Any:
        """The import graph of tasks/; a module named in a string, to start a process, counts as imported."""
        import grimp

        graph = grimp.build_graph(TASKS, cache_dir=None)
        for module in sorted(graph.modules):
            path = self.root / to_path(module)
            for text in _read_texts(path) if path.is_file() else ():
                if text.startswith(f"{TASKS}.") and text in graph.modules:
                    graph.add_import(importer=module, imported=text)
        return graph

    def list_modules(self, module: str, outs: Iterable[str], folders: Iterable[str] = ()) -> set[str]:
        """List the modules that determine a module's outputs: itself and its imports, at any depth.

        folders: paths of code that it finds by name; what their modules import counts, they themselves do
        not: a file that is put there changes the folder, and no declaration.
        """
        outs = tuple(outs)
        below = tuple(f"{to_module(folder)}." for folder in folders)
        plugged = {name for name in self.imports.modules if name.startswith(below)} if below else set()
        starts = {module, *plugged}
        if any(out.endswith(".parquet") for out in outs):
            starts.add(WRITER)
        if any(out.endswith(".calls.parquet") for out in outs):
            starts.update(ASK)
        found = starts.union(*(self.imports.find_upstream_modules(start) for start in starts))
        return {name for name in found - plugged if (self.root / to_path(name)).is_file()}

    def list_pages(self, modules: Iterable[str]) -> set[str]:
        """List templates, styles and scripts named in modules, and the templates that these refer to."""
        found: set[str] = set()
        for module in modules:
            folders = (f"{TASKS}/{module.split('.')[1]}/pages", FRAME)
            for text in _read_texts(self.root / to_path(module)):
                if PAGE.fullmatch(text):
                    found |= self._find_page(text, folders)
        return found

    def _find_page(self, name: str, folders: tuple[str, ...]) -> set[str]:
        """Find a page file in its paper's folder, else the shared one, with the templates that it names."""
        path = next((f"{folder}/{name}" for folder in folders if (self.root / folder / name).is_file()), None)
        if path is None:
            return set()
        below = _read_references(self.root / path) if name.endswith(".html") else ()
        return {path}.union(*(self._find_page(other, folders) for other in below))


def list_pins(modules: Iterable[str]) -> list[str]:
    """List the keys of pyproject.toml that pin packages which determine the output of modules."""
    modules = set(modules)
    return [
        "tool.benchloom.bytes",
        *sorted({f"tool.benchloom.{PINS[name]}" for name in PINS if name in modules}),
    ]


def find_module(stage: str, root: Path, others: Iterable[str] = ()) -> str:
    """Find a stage's module: for `grammar.schema`, the only module named `schema` below tasks/grammar.

    A stage that its paper has no module for may be a shared one (`SHARED_STAGES`). others: names of all
    stages; a module whose full name is another stage's belongs to that stage. Raises BadInput if there is
    none, or more than one.
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
        there = f"there are {' and '.join(map(to_path, found))}" if found else f"there is no {exact}"
        raise BadInput(
            f"stage {stage}",
            f"must be one module named {stage.rpartition('.')[2]!r} below {TASKS}/{paper}: {there}",
        )
    return found[0]


def find_function(path: Path, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Find a function at the top of a module, without importing it."""
    nodes = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return next((function for function in functions if function.name == name), None)


def has_name(path: Path, name: str) -> bool:
    """Tell whether a module has a function of a name at its top, or takes one over from another module."""
    nodes = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
    taken = (alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names)
    return find_function(path, name) is not None or any(name == (own.asname or own.name) for own in taken)


def to_path(module: str) -> str:
    """Convert a module's name to its file's path."""
    return f"{module.replace('.', '/')}.py"


def to_module(path: str) -> str:
    """Convert a file's path to its module's name."""
    return path.removesuffix(".py").replace("/", ".")


@cache
def _read_texts(path: Path) -> tuple[str, ...]:
    """Read all string literals of a module, docstrings included."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return tuple(sorted({node.value for node in nodes if isinstance(node.value, str)}))


@cache
def _read_references(path: Path) -> tuple[str, ...]:
    """Read which templates a template extends, includes or imports."""
    from jinja2 import Environment
    from jinja2.meta import find_referenced_templates

    tree = Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))
    return tuple(sorted(name for name in find_referenced_templates(tree) if name))
