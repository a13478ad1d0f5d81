"""Parts that are classes: each in a file that is named like it, or brought by an installed package.

`length-ratio` is the class of that name in the folder's length_ratio.py. A module is imported on demand.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tasks.errors import BadInput
from tasks.plugs import list_plugs

Base = TypeVar("Base")
NAMED = re.compile(r'^    name(?:: ClassVar\[str\])? = "([\w-]+)"$', re.MULTILINE)


@dataclass(frozen=True)
class PluggedClasses(Generic[Base]):
    """The classes of one kind. They have a `name`.

    base: what they are subclasses of. group: of entry points, after `benchloom.`. package: of the folder.
    noun, page: for messages, as `method` and `docs/plugs.md`.
    """

    base: type[Any]
    group: str
    package: str
    noun: str
    page: str

    def list_all(self, folder: Path) -> list[str]:
        """List the names of the folder's classes, then those of installed packages. Imports none."""
        own = list_own(folder)
        return [*own, *(plug.name for plug in list_plugs(self.group) if plug.name not in own)]

    def import_own(self, name: str) -> type[Base]:
        """Import the class of a file. Raises BadInput where the file has none of that name, or several."""
        module = importlib.import_module(f"{self.package}.{to_module(name)}")
        found = [
            own for own in vars(module).values() if self._is_kind(own) and getattr(own, "name", "") == name
        ]
        place = f"{self.package.rpartition('.')[2]}/{to_module(name)}.py"
        return self.check(found[0] if len(found) == 1 else None, place, name)

    def check(self, found: object, where: str, name: str) -> type[Base]:
        """Check that an object is a class of the kind and has that name. Raises BadInput."""
        if isinstance(found, type) and self._is_kind(found) and getattr(found, "name", "") == name:
            return found
        raise BadInput(where, f"must hold one {self.noun} of the name {name!r}", hint=f"see {self.page}")

    def _is_kind(self, found: object) -> bool:
        return isinstance(found, type) and issubclass(found, self.base) and found is not self.base


def list_own(folder: Path) -> list[str]:
    """List the names of a folder's classes that are named like their files."""
    return [name for path in sorted(folder.glob("*.py")) for name in list_names(path)]


def list_names(path: Path) -> list[str]:
    """List the classes that are named like their file: one, or none if it has no such class."""
    if not path.is_file():
        return []
    names = NAMED.findall(path.read_text(encoding="utf-8"))
    return [name for name in names if to_module(name) == path.stem]


def to_module(name: str) -> str:
    """Return the name of a class's module."""
    return name.replace("-", "_")
