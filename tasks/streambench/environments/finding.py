"""Find environments: `sql` is the class of that name in this folder's sql.py, or an installed plug."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from tasks.errors import BadInput
from tasks.plugs import find_plug, list_plugs
from tasks.streambench.environment import Environment

FOLDER = Path(__file__).parent
KIND = "environments"
NAMED = re.compile(r'^    name(?:: ClassVar\[str\])? = "([\w-]+)"$', re.MULTILINE)


def find_environment(kind: str) -> type[Environment]:
    """Find the environment of a kind of items: in its file, else installed. Raises BadInput for none."""
    if kind in list_own():
        module = importlib.import_module(f"{__package__}.{to_file(kind)}")
        return check_environment(
            [own for own in vars(module).values() if is_environment(own) and own.name == kind],
            f"{to_file(kind)}.py",
            kind,
        )
    plug = find_plug(KIND, kind)
    if plug is None:
        raise BadInput(
            f"environment {kind[:80]!r}", "is not known", hint=f"there are {', '.join(list_kinds())}"
        )
    return check_environment([plug.load()], f"{plug.package}: {plug.value}", kind)


def list_kinds() -> list[str]:
    """List the kinds of the files of this folder, then those of installed plugs. Imports none."""
    own = list_own()
    return [*own, *(plug.name for plug in list_plugs(KIND) if plug.name not in own)]


def list_own() -> list[str]:
    """List the kinds of this folder's files: those whose class is named like the file."""
    return [
        name
        for path in sorted(FOLDER.glob("*.py"))
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
        if to_file(name) == path.stem
    ]


def check_environment(found: list[object], where: str, kind: str) -> type[Environment]:
    """Check that what was found is one environment of that name. Raises BadInput."""
    if len(found) == 1:
        own = found[0]
        if isinstance(own, type) and issubclass(own, Environment) and own.name == kind:
            return own
    raise BadInput(where, f"must hold one environment of the name {kind!r}", hint="see docs/streambench.md")


def is_environment(found: object) -> bool:
    """Tell whether an object is an environment's class that can be made."""
    return isinstance(found, type) and issubclass(found, Environment) and found is not Environment


def to_file(kind: str) -> str:
    """Name the module of a kind."""
    return kind.replace("-", "_")
