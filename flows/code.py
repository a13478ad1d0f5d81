"""Find the code that determines a stage's output: modules, page templates and pinned packages.

DVC does not follow names, so dvc.yaml lists the files.
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
"""What reads and writes a stage's artifacts, and its calls, without being named by it."""
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
    def slices(self) -> CodeSlices:
        """The definitions of tasks/."""
        return CodeSlices(self.root, TASKS)

    def find_slice(
        self, starts: Iterable[Node], files: Iterable[str], folders: Iterable[str] = ()
    ) -> CodeSlice:
        """Find the definitions that determine what functions write.

        starts: their modules and names. files: the data that they read and write. folders: paths of code that
        they find by name; what their modules use counts, they themselves do not: a file that is put there
        changes the folder, and no declaration.
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
        """List templates, styles and scripts named in a slice, and the templates that these refer to."""
        found: set[str] = set()
        for module, text in code.texts:
            if PAGE.fullmatch(text):
                found |= self._find_page(text, (f"{TASKS}/{module.split('.')[1]}/pages", FRAME))
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
        there = f"known: {' and '.join(map(to_path, found))}" if found else f"there is no {exact}"
        raise BadInput(
            f"stage {stage}",
            f"needs exactly one module named {stage.rpartition('.')[2]!r} below {TASKS}/{paper}; {there}",
        )
    return found[0]


def find_function(path: Path, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Find a function at the top of a module, without importing it."""
    return _find_function(path, path.stat().st_mtime_ns, name)


@cache
def _find_function(path: Path, changed: int, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Find a function of a module as it was at a time, so that each module is parsed once per process."""
    nodes = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return next((function for function in functions if function.name == name), None)


def has_name(path: Path, name: str) -> bool:
    """Return whether a module has a function of a name at its top, or takes one over from another module."""
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
    """Read which templates a template extends, includes or imports."""
    from jinja2 import Environment
    from jinja2.meta import find_referenced_templates

    tree = Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))
    return tuple(sorted(name for name in find_referenced_templates(tree) if name))
