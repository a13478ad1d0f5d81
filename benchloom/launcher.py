"""The `benchloom` command: find the project, import only its code, and run its command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchloom.places import Refused, check_launcher, find_project, find_template, import_from

BY_TEMPLATE = frozenset({"init", "new"})
"""Commands that always run the installed code, since a project's code may be older."""


def main() -> None:
    """Run the command line of the current project; outside a project, run the installed command line."""
    try:
        import_from(choose_root(sys.argv[1:], find_here()))
    except Refused as error:
        print(f"benchloom: {error}", file=sys.stderr)
        sys.exit(2)
    import_module("flows.cli").main()


def find_here() -> Path:
    """Return the current folder. Raises Refused if the folder has been deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Refused("the current folder no longer exists (cd to another folder)") from None


def choose_root(words: Sequence[str], here: Path) -> Path:
    """Return the folder whose code runs: the current project or, outside a project, the installed template.

    Raises Refused if the project belongs to another environment.
    """
    command = next((word for word in words if not word.startswith("-")), "")
    project = None if command in BY_TEMPLATE else find_project(here)
    if project is None:
        return find_template()
    check_launcher(project)
    return project
