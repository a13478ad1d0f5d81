"""List the texts that `python -m bench.prose` checks: documentation, help, messages and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

from flows.cli import app
from tests.documented import ROOT

GENERATED = {"docs/bytes.md", "docs/commands.md", "docs/parameters.md"}
"""Pages generated from texts in the code; the kinds `help` and `docstrings` cover these texts."""
PACKAGES = ("benchloom", "flows", "tasks")
SPEAKING = {"say", "say_line", "print_line"}
"""Functions that show their argument to the user."""
FENCE = re.compile(r"^(```|~~~)")
ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
MARKUP = (
    (re.compile(r"(`+)(.+?)\1", re.DOTALL), "CODE"),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"https?://\S+"), "URL"),
    (re.compile(r"\*\*|__|^#+ ", re.MULTILINE), ""),
)
"""Pattern of markup -> its replacement for the rules; code counts as one word."""
FILLED = "CODE"


@dataclass(frozen=True)
class Text:
    """A paragraph, list item, table cell, help text or message. kind: a key of KINDS."""

    path: str
    line: int
    kind: str
    text: str


def list_docs() -> Iterator[Text]:
    """List the paragraphs of hand-written pages, without code blocks and evidence."""
    pages = (path for path in sorted((ROOT / "docs").rglob("*.md")) if "evidence" not in path.parts)
    for page in (*sorted(ROOT.glob("*.md")), *pages):
        path = page.relative_to(ROOT).as_posix()
        if path not in GENERATED:
            yield from split_blocks(path, 1, "docs", page.read_text(encoding="utf-8"))


def split_blocks(path: str, first: int, kind: str, markdown: str) -> Iterator[Text]:
    """Split Markdown into paragraphs, headings, list items and table cells."""
    lines: list[str] = []
    begun, fenced = first, False
    for number, line in enumerate([*map(str.strip, markdown.splitlines()), ""], first):
        fence = FENCE.match(line)
        fenced = fenced != bool(fence)
        alone = line.startswith(("#", "|", "<!--", "Example:")) or ITEM.match(line)
        if lines and (fence or fenced or alone or not line):
            yield Text(path, begun, kind, strip_markup("\n".join(lines)))
            lines = []
        if fence or fenced or not line or line.startswith(("<!--", "Example:")):
            continue
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip("|"))
            yield from (Text(path, number, kind, strip_markup(cell.strip())) for cell in cells)
            continue
        begun = begun if lines else number
        lines.append(ITEM.sub("", line))


def strip_markup(text: str) -> str:
    """Replace code, links and emphasis by their visible text; line breaks do not change."""
    for pattern, shown in MARKUP:
        text = pattern.sub(lambda found, shown=shown: keep_lines(found, shown), text)
    return text


def keep_lines(found: re.Match[str], shown: str) -> str:
    """Expand a replacement, and keep the line breaks of the replaced text."""
    expanded = found.expand(shown)
    return expanded + "\n" * (found[0].count("\n") - expanded.count("\n"))


def list_help() -> Iterator[Text]:
    """List the distinct help texts of all commands, arguments and options."""
    seen = set()
    for command in list_commands(typer.main.get_command(app)):
        path, line = find_source(command)
        for told in (command.help, *(getattr(param, "help", None) for param in command.params)):
            if told and told not in seen:
                seen.add(told)
                yield from split_blocks(path, line, "help", told)


def list_commands(command: Any) -> Iterator[Any]:
    """List a command and all commands below it."""
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from list_commands(inner)


def find_source(command: Any) -> tuple[str, int]:
    """Return the file and line of a command's function; for a group, of the command line's module."""
    function = command.callback and inspect.unwrap(command.callback)
    if function is None:
        return "flows/cli.py", 1
    code = function.__code__
    return Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_firstlineno


@cache
def read_trees() -> dict[str, ast.Module]:
    """Parse the code: path -> syntax tree."""
    files = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def list_messages() -> Iterator[Text]:
    """List the texts of errors and of lines for the user, except texts that docs/bytes.md fixes."""
    speaking = SPEAKING | find_errors()
    fixed = set(re.findall(r"'([^'\n]+)'", (ROOT / "docs" / "bytes.md").read_text(encoding="utf-8")))
    for path, tree in read_trees().items():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and name_called(call) in speaking:
                arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
                for node in (node for argument in arguments for node in find_texts(argument)):
                    text = write_text(node)
                    if " " in text.strip() and text.replace(FILLED, "{}") not in fixed:
                        yield Text(path, node.lineno, "messages", strip_markup(text))


def find_errors() -> set[str]:
    """Find the names of all classes that derive from BenchloomError."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in read_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"BenchloomError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def name_called(call: ast.Call) -> str:
    """Return the last part of a called function's name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def find_texts(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Find the outermost texts of an expression."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from find_texts(child)


def write_text(node: ast.Constant | ast.JoinedStr) -> str:
    """Return a text in which each formatted value is one word."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(part.value if isinstance(part, ast.Constant) else FILLED for part in node.values)


def list_docstrings() -> Iterator[Text]:
    """List the paragraphs of docstrings, including docstrings of attributes and constants."""
    for path, tree in read_trees().items():
        for node in ast.walk(tree):
            told = node.value if isinstance(node, ast.Expr) else None
            if isinstance(told, ast.Constant) and isinstance(told.value, str):
                yield from split_blocks(path, told.lineno, "docstrings", told.value)


KINDS = {"docs": list_docs, "help": list_help, "messages": list_messages, "docstrings": list_docstrings}
"""Kind of text -> the function that lists all texts of that kind."""
