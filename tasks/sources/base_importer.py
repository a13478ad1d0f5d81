"""What every importer is: a class whose fields are its command's options, and which brings a source in.

`benchloom import NAME` makes the class with this name, in a file that is named like it, and calls `bring_in`
(flows/importing.py).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tasks.errors import BadInput
from tasks.files import remove_empty, write_beside

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
CONTACT = "How a server's people can reach you."
NOT_STATED = "not stated"
"""The licence of a source that says nothing of it."""
Held = TypeVar("Held")


@dataclass(frozen=True)
class Option:
    """A field of an importer that its command sets; an argument, if it has no default.

    words: on the command line, if they are not the field's name. least: number. variable: of the environment.
    """

    help: str
    metavar: str | None
    words: tuple[str, ...] = ()
    default: Any = ...
    least: int | None = None
    variable: str | None = None


def argument(help: str, metavar: str) -> Any:  # noqa: A002 - as the command line names it
    """Declare a field that is an argument of the command."""
    return Option(help, metavar)


def option(
    help: str,  # noqa: A002 - as the command line names it
    metavar: str | None = None,
    *words: str,
    default: Any = None,
    least: int | None = None,
    variable: str | None = None,
) -> Any:
    """Declare a field that is an option of the command."""
    return Option(help, metavar, words, default, least, variable)


@dataclass(frozen=True)
class Imported:
    """What an import did.

    said: lines for people. files: path below the project -> text. settings: keys of params.yaml -> value.
    ended: where a source could not be read to its end; then the command ends with 1.
    """

    said: Sequence[str]
    files: Mapping[Path, str] = field(default_factory=dict)
    settings: Mapping[tuple[str, ...], object] = field(default_factory=dict)
    ended: Sequence[str] = ()


@dataclass(frozen=True)
class ImportStep:
    """Work that any process can do. part: the file or folder that is there when it is done."""

    name: str
    work: Callable[..., object]
    arguments: tuple[object, ...]
    part: Path


@dataclass(frozen=True)
class Project:
    """The project that a source is imported into. stack: what ends when all of the import is written."""

    root: Path
    stack: ExitStack
    find: Callable[[str], Any]
    """Return `a.b.c` of params.yaml; {} if a part is missing."""
    parse: Callable[[str, type[Any]], Any]
    """Validate a section of params.yaml by a pydantic model."""
    parse_database: Callable[[str], Any]
    """Validate an entry of `databases`, with its file's path made whole."""
    look_at: Callable[[Path | None], tuple[str, str]]
    """Return what is wrong with a SQLite file, empty if nothing is, and how large its tables are."""
    keep: Callable[[Path], None]
    """Move a person's file out of the way, and say where it is kept."""
    work: Callable[[Sequence[ImportStep], str, int | None], None]
    """Do pieces on an engine by so many workers."""
    say: Callable[[str], None]
    """Print a line that a waiting person should see."""
    tell: Callable[[str, Sequence[str]], None]
    """Print the first of many problems, each behind what it is about."""

    def hold(self, context: AbstractContextManager[Held]) -> Held:
        """Enter a context that ends when all of the import is written."""
        return self.stack.enter_context(context)

    def place(self, path: Path) -> Path:
        """Name a draft of a file below the project: it takes its place if the import ends well."""
        self.stack.callback(remove_empty, (self.root / path).parent)
        return self.hold(write_beside(self.root / path))


class BaseImporter(ABC):
    """Brings one source in. Its fields by `argument` and `option` are those of its command.

    The class's docstring is the command's help.
    """

    name: ClassVar[str]
    """The command, `benchloom import <name>`."""

    def __init__(self, **options: Any) -> None:
        """options: field -> value; options that are not named have their defaults."""
        known = self.list_options()
        if unknown := sorted(options.keys() - known.keys()):
            raise TypeError(f"{type(self).__name__} has no option {unknown[0]}")
        self.where = f"importer {self.name}"
        """Where the class comes from, for errors."""
        vars(self).update({name: found.default for name, found in known.items()} | options)

    @classmethod
    def list_options(cls) -> dict[str, Option]:
        """List the fields that the command sets: arguments first, inherited options last."""
        names: list[str] = []
        for base in reversed(cls.__mro__):
            names = [*(name for name in vars(base) if name not in names), *names]
        values = ((name, getattr(cls, name)) for name in names)
        found = [(name, value) for name, value in values if isinstance(value, Option)]
        return dict(sorted(found, key=lambda pair: pair[1].default is not ...))

    @abstractmethod
    def bring_in(self, project: Project) -> Imported:
        """Read the source. Raises BadInput, with nothing changed, where nothing can be imported."""


def check_name(name: str) -> None:
    """Raise BadInput for a name that a folder of imported data may not have."""
    if not NAME.fullmatch(name):
        raise BadInput("--name", f"{name[:80]!r} is no name", hint="lower-case letters, digits, - and _")


def count_reasons(skipped: Mapping[str, int], place: str, listed: int | None = None) -> list[str]:
    """Write how many records were skipped for each reason, and the file in `place` that lists them.

    listed: how many of them, if not all.
    """
    lines = [f"skipped: {reason}: {count:,}" for reason, count in sorted(skipped.items())]
    each = "each" if listed in (None, sum(skipped.values())) else f"each of the first {listed:,}"
    return [*lines, f"{each} of these is a line of {place}/skipped.jsonl"] if lines else []


def name_worst(skipped: Mapping[str, int]) -> str:
    """Write the three reasons for which most records were skipped."""
    worst = sorted(skipped.items(), key=lambda pair: -pair[1])[:3]
    return "; ".join(f"{reason}: {count:,}" for reason, count in worst)
