"""What every importer is: a class whose fields are its command's options, and which brings a source in.

`benchloom import NAME` makes the class with this name, in a file that is named like it, and calls `bring_in`
(flows/importing.py).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_type_hints

import typer
from typer.models import ArgumentInfo, ParameterInfo

from tasks.errors import BadInput
from tasks.files import write_beside

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
Contact = Annotated[
    str, typer.Option(metavar="MAIL", envvar="BENCHLOOM_CONTACT", help="How a server's people can reach you.")
]
"""An option of several importers."""
Held = TypeVar("Held")


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
class Piece:
    """Work that any process can do. part: the file or folder that is there when it is done."""

    name: str
    work: Callable[..., object]
    arguments: tuple[object, ...]
    part: Path


class Project(ABC):
    """The project that a source is imported into. What is held ends with the `with` block, the last first."""

    def __init__(self, root: Path) -> None:
        """root: the project's folder."""
        self.root = root
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def hold(self, context: AbstractContextManager[Held]) -> Held:
        """Enter a context that ends when all of the import is written."""
        return self._stack.enter_context(context)

    def place(self, path: Path) -> Path:
        """Name a draft of a file below the project: it takes its place if the import ends well."""
        self._stack.callback(remove_empty, (self.root / path).parent)
        return self.hold(write_beside(self.root / path))

    @abstractmethod
    def find(self, key: str) -> Any:
        """Return `a.b.c` of params.yaml; {} if a part is missing. Raises BadInput if one is no mapping."""

    @abstractmethod
    def parse(self, key: str, model: type[Any]) -> Any:
        """Validate a section of params.yaml by a pydantic model. Raises BadInput."""

    @abstractmethod
    def parse_database(self, name: str) -> Any:
        """Validate an entry of `databases`, with its file's path made whole. Raises BadInput."""

    @abstractmethod
    def look_at(self, file: Path | None) -> tuple[str, str]:
        """Return what is wrong with a SQLite file, empty if nothing is, and how large its tables are."""

    @abstractmethod
    def keep(self, path: Path) -> None:
        """Move a person's file out of the way, and say where it is kept."""

    @abstractmethod
    def work(self, pieces: Sequence[Piece], engine: str, workers: int | None) -> None:
        """Do pieces on an engine. Raises StageFailed for one whose process was ended twice."""

    @abstractmethod
    def say(self, line: str) -> None:
        """Print a line that a waiting person should see."""

    @abstractmethod
    def tell(self, about: str, lines: Sequence[str]) -> None:
        """Print the first of many problems, each behind what it is about."""


class BaseImporter(ABC):
    """Brings one source in. Fields that typer describes are the command's arguments and options.

    The class's docstring is the command's help.
    """

    name: ClassVar[str]
    """The command, `benchloom import <name>`."""

    def __init__(self, **options: Any) -> None:
        """options: field -> value; fields that are not named keep their defaults."""
        if unknown := sorted(options.keys() - self.list_options().keys()):
            raise TypeError(f"{type(self).__name__} has no option {unknown[0]}")
        self.where = f"importer {self.name}"
        """Where the class comes from, for errors."""
        vars(self).update(options)

    @classmethod
    def list_options(cls) -> dict[str, Any]:
        """List the fields that are options, with their annotations: arguments first, inherited ones last."""
        hints = get_type_hints(cls, include_extras=True)
        names: list[str] = []
        for base in reversed(cls.__mro__):
            names = [*(name for name in vars(base).get("__annotations__", ()) if name not in names), *names]
        found = {name: hints[name] for name in names if find_description(hints[name]) is not None}
        return dict(sorted(found.items(), key=lambda pair: not is_argument(pair[1])))

    @abstractmethod
    def bring_in(self, project: Project) -> Imported:
        """Read the source. Raises BadInput, with nothing changed, where nothing can be imported."""


def find_description(hint: Any) -> ParameterInfo | None:
    """Find typer's description of an argument or option in an annotation."""
    found = (part for part in getattr(hint, "__metadata__", ()) if isinstance(part, ParameterInfo))
    return next(found, None)


def is_argument(hint: Any) -> bool:
    """Return whether an annotation describes an argument."""
    return isinstance(find_description(hint), ArgumentInfo)


def remove_empty(folder: Path) -> None:
    """Remove a folder if nothing is in it."""
    with suppress(OSError):
        folder.rmdir()


def check_name(name: str) -> None:
    """Raise BadInput for a name that a folder of imported data may not have."""
    if not NAME.fullmatch(name):
        raise BadInput("--name", f"{name[:80]!r} is no name", hint="lower-case letters, digits, - and _")


def count_reasons(skipped: Mapping[str, int], place: str) -> list[str]:
    """Write how many records were skipped for each reason, and the file in `place` that lists them."""
    lines = [f"skipped: {reason}: {count:,}" for reason, count in sorted(skipped.items())]
    return [*lines, f"each of these is a line of {place}/skipped.jsonl"] if lines else []


def name_worst(skipped: Mapping[str, int]) -> str:
    """Write the three reasons for which most records were skipped."""
    worst = sorted(skipped.items(), key=lambda pair: -pair[1])[:3]
    return "; ".join(f"{reason}: {count:,}" for reason, count in worst)
