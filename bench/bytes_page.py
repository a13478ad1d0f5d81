"""Write the lists in docs/bytes.md of strings that affect artifacts or ids: `python -m bench.bytes_page`.

Texts are read from syntax trees, fields from annotations; the page's prose is not changed. `--check` changes
nothing, prints the lines that differ from the committed page, and exits with 1 if there are any.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from jinja2.meta import find_undeclared_variables

from flows.discovery import list_stages
from flows.graph import DeclaredGraph
from flows.run.loading import load_function, row_type_of
from tasks.models.ask import PROMPTS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bytes.md"
REASON = re.compile(r"[a-z]+(_[a-z]+)*")
TAKING = {"Dropped": 1, "BrokenRule": 0, "Unusable": 1, "Unparsed": 0}
"""Class -> position of the reason among its arguments."""
SHAPES = {
    "a call on a page": "tasks.reports.calls",
    "figures of grammar.assessment": "tasks.grammar.assess.assessment_figures",
    "the head of a page": "tasks.reports.page",
}
"""Description of a JSON document -> the module whose outermost dataclass defines the document."""


@cache
def read_modules() -> dict[str, ast.Module]:
    """Parse all modules in tasks/: path -> syntax tree."""
    files = sorted((ROOT / "tasks").rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text()) for file in files}


@cache
def list_nodes() -> list[tuple[str, ast.AST]]:
    """List all syntax tree nodes of the modules as (module's path, node)."""
    return [(path, node) for path, tree in read_modules().items() for node in ast.walk(tree)]


def list_calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of the named functions as (module's path, call)."""
    for path, node in list_nodes():
        if isinstance(node, ast.Call) and name_of(node.func) in names:
            yield path, node


def by_folder(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return one line per folder with the distinct texts of its modules. pairs: (module's path, text)."""
    found: dict[str, set[str]] = {}
    for path, text in pairs:
        found.setdefault(path.rpartition("/")[0], set()).add(text)
    return [f"{folder}: {', '.join(sorted(texts))}" for folder, texts in sorted(found.items())]


def name_of(node: ast.expr) -> str:
    """Return the last name of an expression; empty if it has none."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def read_constants() -> dict[str, dict[str, str]]:
    """Read the string constants of modules, including imported constants: path -> name -> text."""
    found = {path: dict(_list_named(tree)) for path, tree in read_modules().items()}
    for path, tree in read_modules().items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                there = found.get(f"{(node.module or '').replace('.', '/')}.py", {})
                names = [alias.name for alias in node.names if alias.name in there]
                found[path] |= {name: there[name] for name in names}
    return found


def _list_named(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        for name, text in zip(target.elts, value.elts, strict=True) if several else [(target, value)]:
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield name.id, text.value


def list_texts(node: ast.expr, path: str) -> list[str]:
    """List the possible texts of an expression in a module; unknown values appear as `{}`."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.IfExp):
        return [*list_texts(node.body, path), *list_texts(node.orelse, path)]
    if isinstance(node, ast.Name):
        text = read_constants()[path].get(node.id)
        return [] if text is None else [text]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        rights = list_texts(node.right, path) or ["{}"]
        return [left + right for left in list_texts(node.left, path) for right in rights]
    if isinstance(node, ast.JoinedStr):
        texts = [""]
        for part in node.values:
            filled = part.value if isinstance(part, ast.FormattedValue) else part
            ends = list_texts(filled, path) or ["{}"]
            texts = [text + end for text in texts for end in ends]
        return texts
    return []


def list_salts() -> list[str]:
    """List the words from which ids, orders and samples are hashed, by folder, with counts above one."""
    found = Counter(
        (path.rpartition("/")[0], repr(text))
        for path, call in list_calls("make_id", *list_salted())
        for argument in call.args
        for text in list_texts(argument, path)
    )
    return by_folder(
        (f"{folder}/", text if count == 1 else f"{text} x{count}") for (folder, text), count in found.items()
    )


@cache
def list_salted() -> tuple[str, ...]:
    """List the functions that pass words to the hash function: by a parameter `salt`, or by `*key`."""
    return tuple(
        function.name
        for _, function in list_nodes()
        if isinstance(function, ast.FunctionDef)
        if "salt" in (argument.arg for argument in function.args.args)
        or (function.args.vararg is not None and function.args.vararg.arg == "key")
    )


def list_words() -> dict[str, set[str]]:
    """Return the beginnings of texts, up to `#` or a colon, by folder."""
    found: dict[str, set[str]] = {}
    for path, node in list_nodes():
        if isinstance(node, ast.expr):
            words = {re.split("#|: ", text)[0] for text in list_texts(node, path)}
            found.setdefault(path.rpartition("/")[0], set()).update(words)
    return found


def list_rows() -> list[str]:
    """List the words with which calls name their row, if the name is not a row's id."""
    return by_folder(
        (path, repr(text))
        for path, call in list_nodes()
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "row"
        for text in list_texts(keyword.value, path)
    )


def list_rules() -> list[str]:
    """List the names of rules in decoding grammars, by folder."""
    return by_folder(
        (path, name)
        for path, node in list_nodes()
        if isinstance(node, ast.JoinedStr | ast.Constant)
        for text in list_texts(node, path)
        for name in re.findall(r"(?:^|\n)(\S+) ::=", text)
    )


def list_prompts() -> list[str]:
    """List all prompts with their template fields."""
    found = []
    for file in sorted((ROOT / "tasks").glob("*/prompts/**/*.md")):
        names = find_undeclared_variables(PROMPTS.parse(file.read_text()))
        found.append(f"{file.relative_to(ROOT).as_posix()}: {', '.join(sorted(names))}".rstrip(" :"))
    return found


def list_columns() -> list[str]:
    """List the columns of each stage's artifact; fields of nested structures are in brackets."""
    graph = DeclaredGraph(ROOT)
    found = []
    for stage in list_stages():
        own = graph.declared[stage.name]
        if own.returns.startswith("Drafts["):
            row = row_type_of(load_function(own.module, stage.function))
            found.append(f"{stage.artifact or stage.function} of {stage.name}: {describe(row)}")
    return sorted(found)


def describe(shape: type, above: tuple[type, ...] = ()) -> str:
    """Return the fields of a dataclass, with nested fields; a recursive field has only its name.

    above: the dataclasses that contain this dataclass.
    """
    hints = get_type_hints(shape)
    parts = []
    for field in fields(shape):
        below = next(_list_dataclasses(hints[field.name]), None)
        own = (*above, shape)
        parts.append(field.name if below is None or below in own else f"{field.name}[{describe(below, own)}]")
    return ", ".join(parts)


def _list_dataclasses(hint: Any) -> Iterator[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from _list_dataclasses(part)


def list_stems() -> list[str]:
    """List the artifacts that row origins name, by folder."""
    direct = [
        (path, text.partition("#")[0])
        for path, call in list_calls("Origin")
        for text in list_texts(call.args[1], path)
        if re.match(r"[a-z_]+#", text)
    ]
    handed = [
        (path, text) for path, call in list_calls("_make_origin") for text in list_texts(call.args[0], path)
    ]
    chosen = [
        (path, text)
        for path, node in list_nodes()
        if isinstance(node, ast.Assign) and name_of(node.targets[0]) == "stem"
        for text in list_texts(node.value, path)
    ]
    return by_folder([*direct, *handed, *chosen])


def list_kinds() -> list[str]:
    """List the kinds of row origins."""
    return sorted({text for path, call in list_calls("Origin") for text in list_texts(call.args[0], path)})


def list_reasons() -> list[str]:
    """List the reasons of dropped rows, and the reasons at the beginning of parser messages, by folder."""
    pairs = [
        (path, text.partition(": ")[0])
        for path, tree in read_modules().items()
        for node in _list_reasons(tree)
        for text in list_texts(node, path)
    ]
    return by_folder((path, text) for path, text in pairs if REASON.fullmatch(text))


def _list_reasons(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions that are reasons, recognised by their position in the code."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    taking = {
        function.name: place
        for function in functions
        for place, argument in enumerate(function.args.args)
        if argument.arg == "reason" and function.name != "__init__"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            place = {**TAKING, **taking}.get(name_of(node.func), len(node.args))
            yield from node.args[place : place + 1]
        elif isinstance(node, ast.Assign) and name_of(node.targets[0]) in ("reason", "problem"):
            yield node.value
        elif isinstance(node, ast.Lambda):
            yield node.body
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            yield from [node.target.slice] if name_of(node.target.value) == "left_out" else []


def list_elements() -> list[str]:
    """List the ids of HTML elements on pages, by folder; scripts, links and lineage refer to these ids."""
    return by_folder(
        (file.relative_to(ROOT).as_posix(), name)
        for file in sorted((ROOT / "tasks").glob("*/pages/*.html"))
        for name in re.findall(r'\bid="([\w-]+)"', file.read_text())
    )


def list_given() -> list[str]:
    """List the names of the data that pages pass to their scripts."""
    calls = [*list_calls("BrowsedRows"), *list_calls("write_data")]
    return by_folder(
        (path, text) for path, call in calls for node in call.args for text in list_texts(node, path)
    )


def list_shapes() -> list[str]:
    """List the fields of the dataclasses that are written as JSON."""
    return [f"{what}: {describe(find_outermost(module))}" for what, module in SHAPES.items()]


def find_outermost(module: str) -> type:
    """Return the only dataclass of a module that no other dataclass in the module contains."""
    kinds = (kind for kind in vars(importlib.import_module(module)).values() if isinstance(kind, type))
    own = [kind for kind in kinds if is_dataclass(kind) and kind.__module__ == module]
    hints = [hint for kind in own for hint in get_type_hints(kind).values()]
    held = {part for hint in hints for part in _list_dataclasses(hint)}
    bases = {base for kind in own for base in kind.__mro__[1:]}
    (outermost,) = (kind for kind in own if kind not in held | bases)
    return outermost


LISTS: Mapping[str, Callable[[], list[str]]] = {
    "salts": list_salts,
    "rows": list_rows,
    "rules": list_rules,
    "prompts": list_prompts,
    "columns": list_columns,
    "kinds": list_kinds,
    "stems": list_stems,
    "reasons": list_reasons,
    "shapes": list_shapes,
    "given": list_given,
    "elements": list_elements,
}
"""Name of a list on the page -> the function that returns the list."""
KEPT = ("stems", "reasons")
"""Lists with manually added words (composed in code), kept while a folder's code contains their parts."""


def write_page(page: str) -> str:
    """Return the page with lists that match the code."""
    for name, list_lines in LISTS.items():
        block = re.compile(rf"(<!-- {name} -->\n```text\n)(.*?)(\n```)", re.DOTALL)
        before = block.search(page)
        if before is None:
            raise SystemExit(f"{PAGE}: has no list {name}, which begins with <!-- {name} -->")
        lines = list_lines()
        if name in KEPT:
            lines = keep_words(lines, before[2].splitlines())
        page = page[: before.start(2)] + "\n".join(lines) + page[before.end(2) :]
    return page


def keep_words(found: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Return lists of words by folder, with previously listed words that a folder still contains added."""
    there = list_words()
    words = split_words(found)
    for folder, before in split_words(listed).items():
        kept = before & there.get(folder, set())
        if kept:
            words.setdefault(folder, set()).update(kept)
    return [f"{folder}: {', '.join(sorted(texts))}" for folder, texts in sorted(words.items())]


def split_words(lines: Iterable[str]) -> dict[str, set[str]]:
    """Parse lines `folder: word, word`: folder -> words."""
    return {folder: set(words.split(", ")) for folder, _, words in (line.partition(": ") for line in lines)}


def main(words: Sequence[str]) -> int:
    """Write the page, or with `--check` print the differences; return the exit code."""
    before = PAGE.read_text(encoding="utf-8")
    after = write_page(before)
    if before == after:
        return 0
    if "--check" in words:
        name = PAGE.relative_to(ROOT).as_posix()
        lines = difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            name,
            f"{name} by the code",
            n=0,
        )
        sys.stdout.writelines(lines)
        print(f"{name} is not what the code has; `python -m bench.bytes_page` writes it", file=sys.stderr)
        return 1
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
