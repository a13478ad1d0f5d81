"""Find environments by name: `sql` is the class in sql.py of this folder, or an installed plug-in."""

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
    """Return the environment class for an item kind, from the kind's file or from a plug-in.

    Raises BadInput if the kind is unknown.
    """
    return CLASSES.find(kind, FOLDER)


def list_kinds() -> list[str]:
    """List the kinds in this folder, then the kinds of installed plug-ins, without importing them."""
    return CLASSES.list_all(FOLDER)
