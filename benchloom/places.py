"""Choose where to import code from: the current project, or the installed template."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from benchloom.tree import CODE

MARKS = ("dvc.yaml", "params.yaml", "flows/cli.py", "tasks/errors.py")
"""Files that identify a project, distinguishing it from other DVC projects and other `flows/` folders."""
LAUNCHER = Path(__file__).resolve().parent


class Refused(Exception):
    """Benchloom refuses to import code from outside the project: one line on stderr, and exit code 2."""


def find_project(start: Path) -> Path | None:
    """Find the project that contains a folder, searching upwards; None if there is none."""
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if is_project(folder)), None)


def is_project(folder: Path) -> bool:
    """Return whether a folder is the root of a project."""
    return all((folder / mark).is_file() for mark in MARKS)


def find_template() -> Path:
    """Find the template of projects: in the wheel, else the checkout that is installed as editable."""
    built = LAUNCHER / "template"
    if built.is_dir():
        return built
    if is_project(LAUNCHER.parent):
        return LAUNCHER.parent
    raise Refused(f"{LAUNCHER} contains no template and is not in a checkout; install benchloom again")


def check_launcher(project: Path) -> None:
    """Raise Refused if the project is another checkout, which has its own environment."""
    own = project / LAUNCHER.name
    if (own / "launcher.py").is_file() and not (LAUNCHER / "template").is_dir() and own.resolve() != LAUNCHER:
        raise Refused(
            f"{project} is not {LAUNCHER.parent}, the checkout for which this environment was created "
            "(`make setup` creates one here)"
        )


def import_from(root: Path) -> None:
    """Put a folder first on the import path, and check that `flows` and `tasks` come from there.

    Raises Refused if they do not: already imported from elsewhere, or missing in the folder.
    """
    sys.path[:] = [str(root), *(entry for entry in sys.path if entry != str(root))]
    for name in CODE:
        found = find_origin(name)
        if found != (root / name / "__init__.py").resolve():
            raise Refused(
                f"{root}: `{name}` would be imported from {found or 'nowhere'}, not from this project; "
                f"what ran would not be what is recorded ({explain(name, root)})"
            )


def find_origin(name: str) -> Path | None:
    """Find the file that an import of a package runs, or has run; None for a namespace package."""
    try:
        spec = find_spec(name)
    except ValueError:  # imported by hand, without a spec
        spec = None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def explain(name: str, root: Path) -> str:
    """Advise how to fix a package that would not be imported from the project."""
    if not (root / name / "__init__.py").is_file():
        return f"{name}/__init__.py is missing; restore it"
    if name in sys.modules:
        return "something in this environment imports it at start: a .pth file or sitecustomize"
    return "something in this environment finds it first: uninstall that"
