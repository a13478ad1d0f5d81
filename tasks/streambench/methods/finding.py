"""Find methods: `zero_shot` is the class of that name in this folder's zero_shot.py, or an installed plug."""

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
    """Find the method of a choice: a file of the project, else an installed package's.

    Raises BadInput for none, for a file that names a version, and for another package than is named.
    """
    name = choice.method
    plug = CLASSES.choose(name, FOLDER)
    if plug is None and (choice.version or choice.record):
        raise BadInput(WHERE, f"{name} is a file of the project", hint="leave version and record out")
    if plug is not None and (choice.version, choice.record) != (plug.version, plug.record):
        problem = f"{plug.package} {plug.version}, which brings {name}, is installed, and not what is named"
        given = f'{{method: {name}, version: "{plug.version}", record: {plug.record}}}'
        raise BadInput(WHERE, problem, hint=given)
    return CLASSES.load(name, plug)
