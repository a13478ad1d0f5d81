"""List items that the documentation lost between two revisions: `python -m bench.documented`.

Commands, options, parameters, exit codes, messages and names in code are read from README, CONTRIBUTING,
SECURITY and docs/. An item is gone if the newer pages, generated ones included, mention it nowhere.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import typer

from bench.parameters_page import NAME, list_parameters
from flows.cli import app
from tests.documented import ROOT

WORKING_TREE = "working tree"
PAGES = re.compile(r"(?:README|CONTRIBUTING|SECURITY)\.md|docs/.*\.md")
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
QUOTED = re.compile(r'"([^"`\n]+(?:\n[^"`\n]+)?)"')
COMMAND = re.compile(r"\bbenchloom ([a-z][a-z\d-]*(?: [a-z][a-z\d-]*)?)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z\d-]*")
EXIT = re.compile(r"\bexits?(?: code)?s? (\d+)|^\| (\d+) \|", re.MULTILINE)
DOTTED = re.compile(r"[a-z_]+(?:\.(?:[\w-]+|<\w+>|\*|\$\{\w+\}))+")
LEAST_WORDS = 3
"""Minimum number of words of a text in quotes or code that counts as a message."""


def read_pages(revision: str) -> dict[str, str]:
    """Read the pages of a git revision, or of the working tree: path -> text."""
    if revision == WORKING_TREE:
        found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
        names = [path.relative_to(ROOT).as_posix() for path in found]
    else:
        names = run_git("ls-tree", "-r", "--name-only", revision).splitlines()
    return {name: read_file(revision, name) for name in sorted(names) if PAGES.fullmatch(name)}


def read_file(revision: str, name: str) -> str:
    """Read a file of a git revision, or of the working tree."""
    if revision == WORKING_TREE:
        return (ROOT / name).read_text(encoding="utf-8")
    return run_git("show", f"{revision}:{name}")


def run_git(*words: str) -> str:
    """Run git in the checkout; return its output."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def list_commands(page: str) -> Iterator[str]:
    """List the commands that a page mentions."""
    known = read_commands()
    for words in COMMAND.findall(page):
        name = words if words in known else words.partition(" ")[0]
        if name in known:
            yield f"benchloom {name}"


@cache
def read_commands() -> frozenset[str]:
    """Return the names of all commands, such as `run` and `import spider`."""
    group: Any = typer.main.get_command(app)
    below = {name: getattr(command, "commands", {}) for name, command in group.commands.items()}
    return frozenset([*below, *(f"{name} {inner}" for name, commands in below.items() for inner in commands)])


def list_options(page: str) -> Iterator[str]:
    """List the options that a page mentions."""
    yield from OPTION.findall(page)


def list_exits(page: str) -> Iterator[str]:
    """List the exit codes that a page mentions."""
    yield from (f"exit {code or row}" for code, row in EXIT.findall(page))


def list_settings(page: str) -> Iterator[str]:
    """List the parameters that a page mentions by a dotted name, as docs/parameters.md writes them."""
    for name in set(DOTTED.findall(page)):
        parts = name.split(".")
        for path in read_parameters().get(parts[-1], ()):
            places = path.split(".")[-len(parts) :]
            if len(places) == len(parts) and all(map(fits, parts, places)):
                yield path


@cache
def read_parameters() -> dict[str, list[str]]:
    """Read the paths of all parameters, by their last key."""
    found: dict[str, list[str]] = {}
    for parameter in list_parameters():
        found.setdefault(parameter.path.rpartition(".")[2], []).append(parameter.path)
    return found


def fits(part: str, place: str) -> bool:
    """Return whether a part of a name on a page matches a part of a parameter's path."""
    return part == place or place == NAME or part in ("*", NAME)


def list_messages(page: str) -> Iterator[str]:
    """List the texts in quotes or in code that have several words and are not commands."""
    prose = BLOCK.sub("", page)
    for text in map(flatten, (*QUOTED.findall(prose), *CODE.findall(prose))):
        if len(text.split()) >= LEAST_WORDS and not text.startswith("benchloom "):
            yield text


def list_names(page: str) -> Iterator[str]:
    """List the names in code: files, columns, keys, classes and values."""
    for text in CODE.findall(BLOCK.sub("", page)):
        yield from (word.strip(",;:()") for word in text.split() if not text.startswith(("benchloom ", "-")))


def flatten(text: str) -> str:
    """Return a text on one line, without the escapes of Markdown tables."""
    return " ".join(text.replace("\\|", "|").split())


KINDS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "commands": list_commands,
    "options": list_options,
    "parameters": list_settings,
    "exit codes": list_exits,
    "messages": list_messages,
    "names": list_names,
}
"""Kind of item -> the function that lists the items of this kind on a page."""


def find_gone(before: Mapping[str, str], after: Mapping[str, str], kind: str) -> dict[str, list[str]]:
    """Find the items of a kind that the newer pages lack: item -> the older pages that mention the item."""
    list_items = KINDS[kind]
    kept = {item for page in after.values() for item in list_items(page)}
    text = flatten("\n".join(after.values()))
    found: dict[str, list[str]] = {}
    for name, page in before.items():
        for item in set(list_items(page)) - kept:
            if item and not re.search(rf"(?<![\w-]){re.escape(item)}(?![\w-])", text):
                found.setdefault(item, []).append(name)
    return dict(sorted(found.items()))


def main(words: Sequence[str]) -> int:
    """Print each missing item with its older pages; return 1 if an item is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.documented",
        description="Print what the documentation mentioned at BEFORE and does not mention at AFTER.",
    )
    parser.add_argument("before", help="a git revision")
    parser.add_argument(
        "after", nargs="?", default=WORKING_TREE, help=f"a git revision; by default the {WORKING_TREE}"
    )
    parser.add_argument("--kind", choices=KINDS, action="append", help="only items of this kind")
    parser.add_argument("--page", help="only what this page mentioned: docs/glossary.md")
    arguments = parser.parse_args(words)
    before, after = read_pages(arguments.before), read_pages(arguments.after)
    if arguments.page:
        before = {arguments.page: before[arguments.page]}
    total = 0
    for kind in arguments.kind or KINDS:
        gone = find_gone(before, after, kind)
        total += len(gone)
        for item, pages in gone.items():
            print(f"{kind}: {item} ({', '.join(pages)})")
        print(f"{kind}: {len(gone)} gone", file=sys.stderr)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
