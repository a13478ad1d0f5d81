"""Systems that are plugs: a file in tasks/systems/own/, or a module that an installed package brings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.plugs import find_plug
from tasks.systems.entries import CallableEntry, PlugEntry

FOLDER = Path(__file__).parent / "own"
KIND = "systems"
DIGITS = 16


@dataclass(frozen=True)
class Plugged:
    """A plug as functions to call.

    entry: names them as calls are recorded, for which nothing needs to be installed. locate: gives the
    `package.module:name` of one to be called; raises BadInput where that is not what the parameters name.
    """

    entry: CallableEntry
    locate: Callable[[str], str]


def find_plugged(name: str, entry: PlugEntry) -> Plugged:
    """Find the plug of `systems.<name>`: a file of the project first. Imports nothing."""
    module = (entry.plug or name).replace("-", "_")
    path = FOLDER / f"{module}.py"
    if not path.is_file():
        version = f"{entry.version}-{entry.record[:DIGITS]}"
        return Plugged(make_entry(module, version, entry), lambda function: locate(name, entry, function))
    if entry.version or entry.record:
        raise BadInput(
            f"params.yaml: systems.{name}",
            f"is {path.name}, whose version is its text",
            hint="leave version and record out",
        )
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
    named = make_entry(f"{__package__}.{FOLDER.name}.{module}", version, entry)
    return Plugged(named, lambda function: function)


def make_entry(module: str, version: str, entry: PlugEntry) -> CallableEntry:
    """Name the functions `answer` and `search` of a module."""
    search = f"{module}:search" if entry.search else None
    return CallableEntry(kind="callable", version=version, function=f"{module}:answer", search=search)


def locate(name: str, entry: PlugEntry, function: str) -> str:
    """Name a function of an installed plug, which must be the very one that the parameters name."""
    place, wanted = f"params.yaml: systems.{name}", entry.plug or name
    plug = find_plug(KIND, wanted)
    if plug is None:
        there = f"no file {FOLDER.name}/{wanted}.py, and no installed plug {wanted}"
        raise BadInput(place, there, hint="see docs/plugs.md")
    if (entry.version, entry.record) != (plug.version, plug.record):
        there = f"{plug.package} {plug.version} is installed, and not what is named there"
        raise BadInput(place, there, hint=f'version: "{plug.version}", record: {plug.record}')
    return f"{plug.value}:{function.partition(':')[2]}"
