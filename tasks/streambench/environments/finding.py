"""Find environments: `sql` is the class of that name in this folder's sql.py, or an installed plug."""

from __future__ import annotations

from pathlib import Path

from tasks.plugged_classes import PluggedClasses
from tasks.streambench.environment import Environment

FOLDER = Path(__file__).parent
KIND = "environments"
CLASSES: PluggedClasses[Environment] = PluggedClasses(
    Environment, KIND, __package__, "environment", "docs/streambench.md"
)


def find_environment(kind: str) -> type[Environment]:
    """Find the environment of a kind of items: in its file, else installed. Raises BadInput for none."""
    return CLASSES.find(kind, FOLDER)


def list_kinds() -> list[str]:
    """List the kinds of the files of this folder, then those of installed plugs. Imports none."""
    return CLASSES.list_all(FOLDER)
