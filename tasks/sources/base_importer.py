"""The base class for importers: its fields declare the command's options, and `bring_in` imports a source.

`benchloom import NAME` finds the class in the file with that name and calls `bring_in` (flows/importing.py).
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
CONTACT = "Your e-mail address, sent to the server so that its operators can reach you."
NOT_STATED = "not stated"
"""The licence text that is recorded for a source without a stated licence."""
Held = TypeVar("Held")


@dataclass(frozen=True)
class Option:
    """An importer's field, set on the command line; a field without a default is a required argument.

    - `words`: the option's names on the command line, if they differ from the field's name.
    - `least`: the minimum value.
    - `variable`: the environment variable that also sets the field.
    """

    help: str
    metavar: str | None
    words: tuple[str, ...] = ()
    default: Any = ...
    least: int | None = None
    variable: str | None = None


def argument(help: str, metavar: str) -> Any:  # noqa: A002 - as the command line names it
    """Declare a field as an argument of the command."""
    return Option(help, metavar)


def option(
    help: str,  # noqa: A002 - as the command line names it
    metavar: str | None = None,
    *words: str,
    default: Any = None,
    least: int | None = None,
    variable: str | None = None,
) -> Any:
    """Declare a field as an option of the command."""
    return Option(help, metavar, words, default, least, variable)


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    - `said`: the lines to print.
    - `files`: path in the project -> the text to write to this file.
    - `settings`: key path in params.yaml -> the new value.
    - `ended`: the positions at which damaged or truncated files ended early; if there are any, the command
      exits with 1.
    """

    said: Sequence[str]
    files: Mapping[Path, str] = field(default_factory=dict)
    settings: Mapping[tuple[str, ...], object] = field(default_factory=dict)
    ended: Sequence[str] = ()


@dataclass(frozen=True)
class ImportStep:
    """A unit of work that any process can run.

    `part`: the file or folder that exists once the work is done.
    """

    name: str
    work: Callable[..., object]
    arguments: tuple[object, ...]
    part: Path


@dataclass(frozen=True)
class Project:
    """The project into which a source is imported.

    `stack`: context managers that exit after the import is written.
    """

    root: Path
    stack: ExitStack
    find: Callable[[str], Any]
    """Return the value of a dotted key (`a.b.c`) in params.yaml; {} if a key is missing."""
    parse: Callable[[str, type[Any]], Any]
    """Validate a section of params.yaml with a pydantic model."""
    parse_database: Callable[[str], Any]
    """Validate an entry of `databases` and make its file's path absolute."""
    look_at: Callable[[Path | None], tuple[str, str]]
    """Return why a SQLite file is unusable (empty if it is usable), and the sizes of its tables as text."""
    keep: Callable[[Path], None]
    """Rename a file that the user wrote, so that it is not overwritten, and print its new path."""
    work: Callable[[Sequence[ImportStep], str, int | None], None]
    """Run steps on an engine; the arguments are the steps, the engine's name and the number of workers (None:
    the default)."""
    say: Callable[[str], None]
    """Print a progress line."""
    tell: Callable[[str, Sequence[str]], None]
    """Print the first few problems of a list, each prefixed with the given subject."""

    def hold(self, context: AbstractContextManager[Held]) -> Held:
        """Enter a context manager and return its value; it exits after the whole import is written."""
        return self.stack.enter_context(context)

    def place(self, path: Path) -> Path:
        """Return the path of a draft that replaces this project file if the import succeeds."""
        self.stack.callback(remove_empty, (self.root / path).parent)
        return self.hold(write_beside(self.root / path))


class BaseImporter(ABC):
    """Imports one source. Fields declared with `argument` and `option` become the command's options.

    The class's docstring becomes the command's help.
    """

    name: ClassVar[str]
    """The command's name in `benchloom import <name>`."""

    def __init__(self, **options: Any) -> None:
        """Set each field to its value in `options`, or to its default.

        Raises TypeError if a name in `options` is not a field.
        """
        known = self.list_options()
        if unknown := sorted(options.keys() - known.keys()):
            raise TypeError(f"{type(self).__name__} has no option {unknown[0]}")
        self.where = f"importer {self.name}"
        """The prefix of error messages about this importer."""
        vars(self).update({name: found.default for name, found in known.items()} | options)

    @classmethod
    def list_options(cls) -> dict[str, Option]:
        """Return the fields that the command sets: arguments first, inherited options last."""
        names: list[str] = []
        for base in reversed(cls.__mro__):
            names = [*(name for name in vars(base) if name not in names), *names]
        values = ((name, getattr(cls, name)) for name in names)
        found = [(name, value) for name, value in values if isinstance(value, Option)]
        return dict(sorted(found, key=lambda pair: pair[1].default is not ...))

    @abstractmethod
    def bring_in(self, project: Project) -> Imported:
        """Import the source. Raises BadInput and changes nothing if no record can be imported."""


def check_name(name: str) -> None:
    """Raise BadInput if a name is not a valid folder name for imported data."""
    if not NAME.fullmatch(name):
        raise BadInput(
            "--name", f"{name[:80]!r} is not a valid name", hint="use lower-case letters, digits, - and _"
        )


def count_reasons(skipped: Mapping[str, int], place: str, listed: int | None = None) -> list[str]:
    """Return lines that report the number of skipped records per reason, and the file that lists the records.

    - `place`: the folder of skipped.jsonl.
    - `listed`: the number of records in that file; None means all skipped records.
    """
    lines = [f"skipped: {reason}: {count:,}" for reason, count in sorted(skipped.items())]
    which = "all of them" if listed in (None, sum(skipped.values())) else f"the first {listed:,} of them"
    return [*lines, f"{place}/skipped.jsonl lists {which}"] if lines else []


def name_worst(skipped: Mapping[str, int]) -> str:
    """Return the three most frequent reasons for skipped records, with counts."""
    worst = sorted(skipped.items(), key=lambda pair: -pair[1])[:3]
    return "; ".join(f"{reason}: {count:,}" for reason, count in worst)
