"""Collect all complete `benchloom` commands in README and docs/, from code blocks and inline code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```\w*[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`(benchloom [^`]+)`")
ALTERNATIVES = re.compile(r"[a-z\d]+(?:\|[a-z\d]+)+")
PAGES = (
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.stem != "commands"),
)
"""Pages with commands, except the reference, which is generated from the commands."""


@dataclass(frozen=True)
class DocumentedCommand:
    """A command in the documentation. block: whether it is in a code block. words: after `benchloom`."""

    page: str
    words: tuple[str, ...]
    block: bool

    def __str__(self) -> str:
        return f"{self.page}: benchloom {shlex.join(self.words)}"


def list_documented() -> list[DocumentedCommand]:
    """List the distinct commands of each page, in the order of the pages."""
    return list(dict.fromkeys(_iterate_documented()))


def _iterate_documented() -> Iterator[DocumentedCommand]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT).as_posix()
        for block in BLOCK.findall(text):
            for line in block.replace("\\\n", " ").splitlines():
                command = re.split(" && | --> ", line.strip().removeprefix("$ "))[0]
                if command.startswith("benchloom "):
                    yield from (DocumentedCommand(name, words, True) for words in _split(command))
        for command in CODE.findall(BLOCK.sub("", text)):
            yield from (DocumentedCommand(name, words, False) for words in _split(command))


def _split(command: str) -> Iterator[tuple[str, ...]]:
    """Split a command into words; alternatives (`threads|dask|ray`) yield one command each."""
    words = shlex.split(command, comments=True)[1:]
    choices = [word.split("|") if ALTERNATIVES.fullmatch(word) else [word] for word in words]
    yield from product(*choices)
