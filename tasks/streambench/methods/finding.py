"""Find methods by name: `zero_shot` is the class in zero_shot.py of this folder, or an installed plug-in."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import BadInput
from tasks.plugged_classes import PluggedClasses
from tasks.streambench.entries import MethodChoice
from tasks.streambench.method import StreamMethod

FOLDER = Path(__file__).parent
KIND = "methods"
CLASSES: PluggedClasses[StreamMethod] = PluggedClasses(
    StreamMethod, KIND, __package__, "method", "docs/plugs.md"
)
WHERE = "params.yaml: streambench: methods"


def find_method(choice: MethodChoice) -> type[StreamMethod]:
    """Return the class of the chosen method, from a project file or from an installed package.

    Raises BadInput if the method does not exist, if a project file has a version, or if the installed package
    differs from the package in the choice.
    """
    name = choice.method
    plug = CLASSES.choose(name, FOLDER)
    if plug is None and (choice.version or choice.record):
        raise BadInput(
            WHERE,
            f"{name} is a project file, which is versioned by its content",
            hint="omit version and record",
        )
    if plug is not None and (choice.version, choice.record) != (plug.version, plug.record):
        problem = (
            f"{plug.package} {plug.version} provides {name}, but the entry names another version or record"
        )
        given = f'use {{method: {name}, version: "{plug.version}", record: {plug.record}}}'
        raise BadInput(WHERE, problem, hint=given)
    return CLASSES.load(name, plug)
