"""Choose where to import code from: the current project, or the installed template."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from benchloom.tree import CODE

MARKS = ("dvc.yaml", "params.yaml", "flows/cli.py", "tasks/errors.py")
"""Files that every Benchloom project contains.

Any other folder lacks at least one of these files, even if it is a DVC project or contains `flows/`.
"""
LAUNCHER = Path(__file__).resolve().parent


class Refused(Exception):
    """The code to run cannot be found, or it would not be imported from the chosen folder.

    The command line prints the error as one line on stderr, with exit code 2.
    """


def find_project(start: Path) -> Path | None:
    """Find the project that contains a folder, searching upwards; None if there is none."""
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if is_project(folder)), None)


def is_project(folder: Path) -> bool:
    """Return whether a folder is the root of a project."""
    return all((folder / mark).is_file() for mark in MARKS)


def find_template() -> Path:
    """Return the folder of the project template, in the wheel or in a checkout installed in editable mode."""
    built = LAUNCHER / "template"
    if built.is_dir():
        return built
    if is_project(LAUNCHER.parent):
        return LAUNCHER.parent
    raise Refused(f"{LAUNCHER} contains no template and is not in a checkout; install benchloom again")


def check_launcher(project: Path) -> None:
    """Raise Refused if the project is a Benchloom checkout other than the one installed in this environment.

    A launcher that was installed from a wheel accepts every project.
    """
    own = project / LAUNCHER.name
    if (own / "launcher.py").is_file() and not (LAUNCHER / "template").is_dir() and own.resolve() != LAUNCHER:
        raise Refused(
            f"{project} is not {LAUNCHER.parent}, the checkout for which this environment was created "
            "(`make setup` creates an environment here)"
        )


def import_from(root: Path) -> None:
    """Put a folder first on the import path, and check that `flows` and `tasks` are imported from it.

    Raises Refused if a package was already imported from elsewhere, or is missing from the folder.
    """
    sys.path[:] = [str(root), *(entry for entry in sys.path if entry != str(root))]
    for name in CODE:
        found = find_origin(name)
        if found != (root / name / "__init__.py").resolve():
            raise Refused(
                f"{root}: `{name}` would be imported from {found or 'nowhere'}, not from this project; "
                f"results would be recorded under hashes of code that did not run ({explain(name, root)})"
            )


def find_origin(name: str) -> Path | None:
    """Find the `__init__.py` that runs when a package is imported; None if there is no such file."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module without a spec
        spec = None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def explain(name: str, root: Path) -> str:
    """Return why a package was not imported from the project, and how to fix the problem."""
    if not (root / name / "__init__.py").is_file():
        return f"{name}/__init__.py is missing; restore it"
    if name in sys.modules:
        return "a .pth file or sitecustomize in this environment imports it at startup; remove that import"
    return "this environment finds another package of this name first; uninstall that package"
