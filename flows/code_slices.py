"""Find the definitions of tasks/ that a function can reach, and the files that its output depends on.

A slice starts at a function and follows the names that each definition uses. The names can be in the
definition's own module or in imported modules. A slice does not follow an import that is used only by
definitions outside the slice. If names cannot be followed in a module, the slice includes all definitions of
the module (rules: docs/stages.md).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

Node = tuple[str, str]
"""A pair: a module, and the name of a definition or one of the names EVERYTHING and EFFECTS."""
EVERYTHING = "*"
EFFECTS = ""
"""Name of the node for a module's statements with side effects at import."""
Definable = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
UNFOLLOWED = frozenset({"globals", "eval", "exec", "__import__", "builtins", "sys.modules"})
"""Names through which code can reach every other name in its module."""
FINDS_CLASSES = re.compile(rb"__subclasses__|__init_subclass__|^class \w+\(type\b", re.MULTILINE)
"""Matches code that looks up classes dynamically.

If a module of a slice matches, the slice includes every module that is loaded when the slice's modules
are imported. All definitions of these modules are included.
"""
TYPES_ONLY = frozenset({"TYPE_CHECKING", "typing.TYPE_CHECKING"})
MARKS = frozenset({("tasks.artifacts.splitting", "splits")})
"""Decorators of tasks/ that only mark a function, and thus have no side effects at import.

Any other decorator of tasks/ may register the function or class that it decorates.
"""


@dataclass(frozen=True)
class Import:
    """An imported name.

    `name`: the name in the imported module. An empty name means the module, and `*` means all names of the
    module.
    """

    module: str
    name: str


@dataclass
class Definition:
    """The names, imports and string literals in a statement.

    `uses`: the names that the statement uses. For a name with attributes, only the first attribute is
    included: `a.b.c` becomes `a.b`.
    """

    uses: set[str] = field(default_factory=set)
    imports: set[tuple[str, Import]] = field(default_factory=set)
    """The imports inside the statement, each with the name that it binds."""
    texts: set[str] = field(default_factory=set)
    """The string literals in the statement."""


@dataclass
class Module:
    """The definitions, statements and imports at the top level of a module."""

    bindings: dict[str, list[Definition | Import]] = field(default_factory=dict)
    effects: list[Definition] = field(default_factory=list)
    """Statements with side effects; a slice that imports the module includes these statements."""
    main: list[Definition] = field(default_factory=list)
    """Statements that run only if the module is executed as a script."""
    loads: set[str] = field(default_factory=set)
    """Modules that are loaded when this module is imported, and imported attributes that may be modules."""
    finds_classes: bool = False


@dataclass(frozen=True)
class CodeSlice:
    """The definitions that a function can reach."""

    nodes: frozenset[Node]
    texts: frozenset[tuple[str, str]]
    """Pairs (module, string literal), for the literals in the slice's definitions."""

    @cached_property
    def modules(self) -> set[str]:
        """The modules that contain at least one of the definitions."""
        return {module for module, _ in self.nodes}

    def leave_out(self, modules: Collection[str]) -> CodeSlice:
        """Return the slice without the definitions of the given modules."""
        nodes = frozenset(node for node in self.nodes if node[0] not in modules)
        texts = frozenset(text for text in self.texts if text[0] not in modules)
        return CodeSlice(nodes, texts)


@dataclass(frozen=True)
class CodeSlices:
    """Cuts slices from the definitions of a package. root: the folder that contains the package."""

    root: Path
    package: str
    _read: dict[str, Module] = field(default_factory=dict, init=False)
    _edges: dict[Node, set[Node]] = field(default_factory=dict, init=False)
    _effects: dict[str, list[Node]] = field(default_factory=dict, init=False)

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Module name -> file, for the package's modules. `__init__.py` files are ignored."""
        found = {}
        # A folder of the package may be a link; `Path.rglob` does not follow links to folders.
        for folder, _, files in os.walk(self.root / self.package, followlinks=True):
            package = ".".join(Path(folder).relative_to(self.root).parts)
            for file in files:
                if file.endswith(".py") and file != "__init__.py":
                    found[f"{package}.{file.removesuffix('.py')}"] = Path(folder, file)
        return found

    def read(self, module: str) -> Module:
        """Read a module's definitions; each module is read once."""
        if module not in self._read:
            self._read[module] = _read_module(module, self.modules[module].read_bytes())
        return self._read[module]

    def cut(self, starts: Iterable[Node]) -> CodeSlice:
        """Return the slice of all definitions that are reachable by names from the start nodes."""
        nodes = self._follow(start for start in starts if start[0] in self.modules)
        modules = {module for module, _ in nodes}
        if any(self.read(module).finds_classes for module in modules):
            nodes = self._follow((module, EVERYTHING) for module in self._list_loaded(modules))
        texts = (
            (module, text)
            for module, name in nodes
            for definition in self._list_definitions(module, name)
            for text in definition.texts
        )
        return CodeSlice(frozenset(nodes), frozenset(texts))

    def _follow(self, starts: Iterable[Node]) -> set[Node]:
        todo, nodes = list(starts), set[Node]()
        while todo:
            node = todo.pop()
            if node in nodes:
                continue
            nodes.add(node)
            if node not in self._edges:
                self._edges[node] = set(self._find_edges(*node))
            todo += self._edges[node]
        return nodes

    def _find_edges(self, module: str, name: str) -> Iterator[Node]:
        """Yield the nodes (module and name) that a node refers to."""
        yield module, EFFECTS
        found = self.read(module)
        if name == EVERYTHING:
            for bound in found.bindings:
                yield from self._resolve(module, bound)
        if name == EFFECTS:
            yield from self._list_effects(module)
        for binding in found.bindings.get(name, ()):
            if isinstance(binding, Import):
                yield from self._resolve_import(binding)
        for definition in self._list_definitions(module, name):
            yield from self._find_used(module, definition)

    def _list_definitions(self, module: str, name: str) -> list[Definition]:
        """List a node's own statements; for EVERYTHING, those that run only if the module is a script."""
        found = self.read(module)
        if name == EVERYTHING:
            return found.main
        if name == EFFECTS:
            return found.effects
        return [binding for binding in found.bindings.get(name, ()) if isinstance(binding, Definition)]

    def _find_used(self, module: str, definition: Definition) -> Iterator[Node]:
        """Yield the nodes of all names that a definition uses."""
        used = {use.partition(".")[0] for use in definition.uses}
        for use in definition.uses:
            name, _, attribute = use.partition(".")
            for bound, imported in definition.imports:
                if bound == name:
                    yield from self._resolve_import(imported, attribute)
            if name in self.read(module).bindings:
                yield from self._resolve(module, name, attribute)
        for bound, imported in definition.imports:
            if bound not in used:
                yield from self._resolve_import(imported)
        if definition.uses & UNFOLLOWED:
            yield module, EVERYTHING
        for text in definition.texts:
            if text in self.modules:  # module names, as in the command line of a process that is started
                yield text, EVERYTHING

    def _resolve(self, module: str, name: str, attribute: str = "") -> Iterator[Node]:
        """Yield the nodes that a name in a module refers to.

        `attribute`: the attribute that is read from the name, or ''.
        """
        yield module, EFFECTS
        bindings = self.read(module).bindings.get(name)
        if bindings is None:  # unknown: defined by a star import or by `__getattr__`
            yield module, EVERYTHING
        for binding in bindings or ():
            if isinstance(binding, Import):
                yield from self._resolve_import(binding, attribute)
            else:
                yield module, name

    def _resolve_import(self, imported: Import, attribute: str = "") -> Iterator[Node]:
        """Yield the nodes that an imported name refers to.

        If the name is a module, only the nodes of `attribute` are yielded, or by default the whole module.
        """
        module, name = imported.module, imported.name
        inside = f"{module}.{name}" if name else module
        if name and module in self.modules:
            yield from self._resolve(module, name, attribute)
        elif inside in self.modules:
            yield from self._resolve(inside, attribute) if attribute else [(inside, EVERYTHING)]
        elif inside.partition(".")[0] == self.package:  # a package: its attributes are modules
            below = f"{inside}.{attribute}".removesuffix(".")
            yield from ((other, EVERYTHING) for other in self.modules if f"{other}.".startswith(f"{below}."))

    def _list_effects(self, module: str) -> list[Node]:
        """List the EFFECTS nodes of all modules that are loaded when a module is imported."""
        if module not in self._effects:
            loaded = self._list_loaded([module])
            self._effects[module] = [(name, EFFECTS) for name in loaded if self.read(name).effects]
        return self._effects[module]

    def _list_loaded(self, starts: Iterable[str]) -> set[str]:
        """Return `starts` and all modules that their import loads, directly or indirectly."""
        todo, loaded = list(starts), set[str]()
        while todo:
            module = todo.pop()
            if module not in loaded and module in self.modules:
                loaded.add(module)
                todo += self.read(module).loads
        return loaded


@cache
def _read_module(name: str, source: bytes) -> Module:
    """Read the bindings, effects and imports of a module, without importing the module."""
    module = Module(finds_classes=FINDS_CLASSES.search(source) is not None)
    statements = ast.parse(source, name).body
    for statement in statements:
        _read_statement(name, module, statement)
    for statement in statements:
        if isinstance(statement, Definable) and _registers(name, module, statement):
            module.effects.append(Definition(uses={statement.name}))
    return module


def _read_statement(name: str, module: Module, statement: ast.stmt) -> None:
    """Add the bindings, effects and imports of one top-level statement to `module`."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            imports = set(_read_imports(name, statement))
            for bound, imported in imports:
                module.bindings.setdefault(bound, []).append(imported)
                if bound == EVERYTHING:
                    module.effects.append(Definition(imports={(bound, imported)}))
            _load(module, imports)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            module.bindings.setdefault(statement.name, []).append(_read_definition(name, statement))
        case ast.Expr(ast.Constant()) | ast.Pass():
            pass
        case ast.Assign() | ast.AnnAssign() if _binds_names(statement):
            definition = _read_definition(name, statement)
            definition.uses |= definition.texts  # a string may name a type
            _bind(module, definition, statement)
        case ast.If() if ast.unparse(statement.test) in TYPES_ONLY:
            # Imports for type checkers bind names, but load no module at run time.
            loads = set(module.loads)
            for inner in statement.body:
                _read_statement(name, module, inner)
            module.loads = loads
            for inner in statement.orelse:
                _read_statement(name, module, inner)
        case ast.If() if ast.unparse(statement.test) == "__name__ == '__main__'" and not statement.orelse:
            module.main.append(_read_definition(name, statement))
        case _:
            definition = _read_definition(name, statement)
            module.effects.append(definition)
            _bind(module, definition, statement)
            _load(module, definition.imports)


def _load(module: Module, imports: Iterable[tuple[str, Import]]) -> None:
    for _, imported in imports:
        module.loads |= {imported.module, f"{imported.module}.{imported.name}"}


def _bind(module: Module, definition: Definition, statement: ast.stmt) -> None:
    """Add a binding to `module` for each name that a statement binds, including nested statements."""
    bound = {name for name, _ in definition.imports}
    for node in ast.walk(statement):
        match node:
            case ast.Name(name, ast.Store()):
                bound.add(name)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                bound.add(name)
    for name in bound:
        module.bindings.setdefault(name, []).append(definition)


def _binds_names(statement: ast.Assign | ast.AnnAssign) -> bool:
    """Return whether an assignment only binds names, and does not modify an object."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    nodes = (node for target in targets for node in ast.walk(target))
    return not any(isinstance(node, ast.Attribute | ast.Subscript) for node in nodes)


def _registers(name: str, module: Module, statement: Definable) -> bool:
    """Return whether a decorator of tasks/ may register the function or class that it decorates."""
    for decorator in statement.decorator_list:
        root = decorator
        while isinstance(root, ast.Call | ast.Attribute | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        for binding in module.bindings.get(root.id, ()) if isinstance(root, ast.Name) else ():
            if isinstance(binding, Definition):
                return True
            ours = binding.module.partition(".")[0] == name.partition(".")[0]
            if ours and (binding.module, binding.name) not in MARKS:
                return True
    return False


def _read_definition(module: str, statement: ast.AST) -> Definition:
    """Read the names that a statement uses, at any depth, including annotations written as strings."""
    found = Definition()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        match node:
            case ast.Attribute(ast.Name(name), attribute):
                found.uses.add(f"{name}.{attribute}")
                continue
            case ast.Name(name, ast.Load() | ast.Del()) | ast.AugAssign(ast.Name(name)):
                # An assignment to a name, such as a field of a class, is not a use of the name.
                found.uses.add(name)
            case ast.Global(names):
                found.uses.update(names)
            case ast.Constant(str(text)):
                found.texts.add(text)
            case ast.Import() | ast.ImportFrom():
                found.imports |= set(_read_imports(module, node))
            case ast.arg(_, annotation) | ast.AnnAssign(_, annotation) if annotation is not None:
                todo += _parse_annotations(annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.returns is not None:
                todo += _parse_annotations(node.returns)
        todo += ast.iter_child_nodes(node)
    return found


def _parse_annotations(annotation: ast.expr) -> Iterator[ast.AST]:
    """Parse the strings in an annotation that are valid expressions."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                yield ast.parse(node.value, mode="eval")
            except SyntaxError:
                continue


def _read_imports(module: str, statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """Yield the names that an import binds.

    `import a.b` binds `a`, and counts as a use of every name in a.b.
    """
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            first, _, below = alias.name.partition(".")
            whole = below and not alias.asname
            yield alias.asname or first, Import(alias.name, EVERYTHING if whole else "")
    else:
        above = module.split(".")[: -statement.level] if statement.level else []
        source = ".".join([*above, *([statement.module] if statement.module else [])])
        for alias in statement.names:
            yield alias.asname or alias.name, Import(source, alias.name)
