"""Find methods: `zero_shot` is the class of that name in this folder's zero_shot.py, or an installed plug."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from tasks.errors import BadInput
from tasks.plugs import find_plug, list_plugs
from tasks.streambench.entries import MethodChoice
from tasks.streambench.method import StreamMethod

FOLDER = Path(__file__).parent
KIND = "methods"
NAMED = re.compile(r'^    name(?:: ClassVar\[str\])? = "([\w-]+)"$', re.MULTILINE)
WHERE = "params.yaml: streambench: methods"


def find_method(choice: MethodChoice) -> type[StreamMethod]:
    """Find the method of a choice: a file of the project, else an installed package's.

    Raises BadInput for none, for a file that names a version, and for another package than is named.
    """
    name = choice.method
    if name in list_own():
        if choice.version or choice.record:
            raise BadInput(WHERE, f"{name} is a file of the project", hint="leave version and record out")
        module = importlib.import_module(f"{__package__}.{to_file(name)}")
        found = [own for own in vars(module).values() if is_method(own) and own.name == name]
        return check_method(found, f"{FOLDER.name}/{to_file(name)}.py", name)
    plug = find_plug(KIND, name)
    if plug is None:
        raise BadInput(WHERE, f"{name[:80]!r} is not known", hint=f"there are {', '.join(list_methods())}")
    if (choice.version, choice.record) != (plug.version, plug.record):
        problem = f"{plug.package} {plug.version}, which brings {name}, is installed, and not what is named"
        given = f'{{method: {name}, version: "{plug.version}", record: {plug.record}}}'
        raise BadInput(WHERE, problem, hint=given)
    return check_method([plug.load()], f"{plug.package}: {plug.value}", name)


def list_methods() -> list[str]:
    """List the methods of this folder's files, then those of installed plugs. Imports none."""
    own = list_own()
    return [*own, *(plug.name for plug in list_plugs(KIND) if plug.name not in own)]


def list_own() -> list[str]:
    """List the methods of this folder's files: those whose class is named like the file."""
    return [
        name
        for path in sorted(FOLDER.glob("*.py"))
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
        if to_file(name) == path.stem
    ]


def check_method(found: list[object], where: str, name: str) -> type[StreamMethod]:
    """Check that what was found is one method of that name. Raises BadInput."""
    if len(found) == 1:
        own = found[0]
        if isinstance(own, type) and issubclass(own, StreamMethod) and own.name == name:
            return own
    raise BadInput(where, f"must hold one method of the name {name!r}", hint="see docs/plugs.md")


def is_method(found: object) -> bool:
    """Tell whether an object is a method's class that can be made."""
    return isinstance(found, type) and issubclass(found, StreamMethod) and found is not StreamMethod


def to_file(name: str) -> str:
    """Name the module of a method."""
    return name.replace("-", "_")
