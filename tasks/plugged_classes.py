"""Find plug-in classes by name, in a file with that name or in an installed package.

For example, the class named `length-ratio` is defined in the folder's file length_ratio.py. Modules are
imported on demand.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tasks.errors import BadInput
from tasks.plugs import Plug, find_plug, list_plugs, refuse_twice, tell_error

Base = TypeVar("Base")
NAMED = re.compile(r'^    name(?:: ClassVar\[str\])? = "([\w-]+)"$', re.MULTILINE)


@dataclass(frozen=True)
class PluggedClasses(Generic[Base]):
    """Finds the plug-in classes of one kind by their attribute `name`.

    `base`: class that the plug-ins must inherit from. `group`: entry point group, without `benchloom.`.
    `package`: Python package of the folder. `noun`: the kind of plug-in in error messages, such as `method`.
    `page`: the documentation page that error messages cite, such as `docs/plugs.md`.
    """

    base: type[Any]
    group: str
    package: str
    noun: str
    page: str

    def list_all(self, folder: Path) -> list[str]:
        """List the names of classes in the folder, then in installed packages, without importing a module."""
        own = list_own(folder)
        return [*own, *(name for name in list_plugs(self.group) if name not in own)]

    def choose(self, name: str, folder: Path) -> Plug | None:
        """Return the installed plug-in with the given name; None if a file of the folder defines the class.

        Imports no module. Raises BadInput if neither a file nor an installed package has the name, or if both
        have it.
        """
        own = name in list_names(folder / f"{to_module(name)}.py")
        plug = find_plug(self.group, name)
        if own and plug is not None:
            raise refuse_twice(self._name_file(name), plug)
        if not own and plug is None:
            there = ", ".join(self.list_all(folder)) or "none"
            raise BadInput(f"{self.noun} {name[:80]!r}", "is not known", hint=f"known: {there}")
        return plug

    def load(self, name: str, plug: Plug | None) -> type[Base]:
        """Import the class that `choose` selected. `plug`: the result of `choose`.

        Raises BadInput if the import fails, or if the class has the wrong kind or name.
        """
        if plug is None:
            return self._import_own(name)
        return self._check(plug.load(), str(plug), name)

    def find(self, name: str, folder: Path) -> type[Base]:
        """Find and import a class by its name, from the folder or an installed package.

        Raises BadInput if the name is unknown or ambiguous, or if the class cannot be imported.
        """
        return self.load(name, self.choose(name, folder))

    def _import_own(self, name: str) -> type[Base]:
        place = self._name_file(name)
        try:
            module = importlib.import_module(f"{self.package}.{to_module(name)}")
        except (Exception, SystemExit) as error:  # a module may call sys.exit() when it is imported
            said = f"cannot be imported: {tell_error(error)}"
            raise BadInput(place, said, hint=advise_import(error)) from error
        found = [
            found
            for found in vars(module).values()
            if self._is_kind(found) and getattr(found, "name", "") == name
        ]
        return self._check(found[0] if len(found) == 1 else None, place, name)

    def _check(self, found: object, where: str, name: str) -> type[Base]:
        """Return the object if it is a class of this kind and name. Raises BadInput otherwise."""
        if isinstance(found, type) and self._is_kind(found) and getattr(found, "name", "") == name:
            return found
        base = f"{self.base.__module__}.{self.base.__qualname__}"
        what = f"must define exactly one {self.noun} named {name!r}, a subclass of {base}"
        raise BadInput(where, what, hint=f"see {self.page}")

    def _name_file(self, name: str) -> str:
        return f"{self.package.replace('.', '/')}/{to_module(name)}.py"

    def _is_kind(self, found: object) -> bool:
        return isinstance(found, type) and issubclass(found, self.base) and found is not self.base


def list_own(folder: Path) -> list[str]:
    """List the `name` values of the classes in a folder, sorted by file.

    A value is listed only if it matches the name of the class's file.
    """
    return [name for path in sorted(folder.glob("*.py")) for name in list_names(path)]


def list_names(path: Path) -> list[str]:
    """List the `name` values of the classes in a file; usually one or none.

    A value is listed only if it matches the file's name.
    """
    if not path.is_file():
        return []
    names = NAMED.findall(path.read_text(encoding="utf-8"))
    return [name for name in names if to_module(name) == path.stem]


def advise_import(error: BaseException) -> str:
    """Return advice on how to fix a file that cannot be imported."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"correct it, or install the package that provides {error.name.partition('.')[0]}"
    return "correct it"


def to_module(name: str) -> str:
    """Return the module name for a class name: `length-ratio` becomes `length_ratio`."""
    return name.replace("-", "_")
