"""Choose where to import code from: the current project, or the installed template."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from benchloom.tree import CODE

MARKS = ("dvc.yaml", "params.yaml", "flows/cli.py", "tasks/errors.py")
"""What a folder must hold to be a project: a user's own `flows/`, or another DVC project, is none."""
LAUNCHER = Path(__file__).resolve().parent


class Refused(Exception):
    """Refuses to import code that is not the project's: one line, and exit code 2."""


def find_project(start: Path) -> Path | None:
    """Find the project that a folder lies in: the nearest one upwards; None outside of any."""
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if is_project(folder)), None)


def is_project(folder: Path) -> bool:
    """Return whether a folder is the root of a project."""
    return all((folder / mark).is_file() for mark in MARKS)


def find_template() -> Path:
    """Find the tree that projects are made from: in the wheel, else the checkout this is installed from."""
    built = LAUNCHER / "template"
    if built.is_dir():
        return built
    if is_project(LAUNCHER.parent):
        return LAUNCHER.parent
    raise Refused(f"{LAUNCHER} contains no template and is not in a checkout; install benchloom again")


def check_launcher(project: Path) -> None:
    """Refuse to be another checkout's launcher: its environment stands on that checkout's pins and plugs."""
    own = project / LAUNCHER.name
    if (own / "launcher.py").is_file() and not (LAUNCHER / "template").is_dir() and own.resolve() != LAUNCHER:
        raise Refused(
            f"{project} is not {LAUNCHER.parent}, the checkout for which this environment was created "
            "(`make setup` creates one here)"
        )


def import_from(root: Path) -> None:
    """Put a folder first on the path, and make sure that `flows` and `tasks` come from there.

    Raises Refused if they would not: already imported from elsewhere, or no packages there.
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
    """Find the file that a package's import would run, or has run; None for a namespace package."""
    try:
        spec = find_spec(name)
    except ValueError:  # imported by hand, without a spec
        spec = None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def explain(name: str, root: Path) -> str:
    """Say what to do about a package that is not the project's."""
    if not (root / name / "__init__.py").is_file():
        return f"{name}/__init__.py is missing; restore it"
    if name in sys.modules:
        return "something in this environment imports it at start: a .pth file or sitecustomize"
    return "something in this environment finds it first: uninstall that"
