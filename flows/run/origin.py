"""Check that this process imported the project's code, since results are recorded under the code's hashes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tasks.errors import BadInput

PACKAGES = ("flows", "tasks")
HERE = Path(__file__).absolute().parents[2]
"""The folder that `flows` and `tasks` are imported from: the project's root, or the installed template."""


def lead_child(environment: dict[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which a child process imports the same `flows` and `tasks`.

    `environment`: variables to add to this process's environment.
    """
    inherited = {**os.environ, **(environment or {})}
    paths = [str(HERE), inherited.get("PYTHONPATH", "")]
    return {**inherited, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def check_code(root: Path) -> None:
    """Raise BadInput if a loaded module of `flows` or `tasks` is not from the project in `root`.

    A folder without code, such as a trial's folder, is not checked.
    """
    for package in PACKAGES:
        folder = root / package
        if not folder.is_dir():
            continue
        homes = (f"{folder}{os.sep}", f"{folder.resolve()}{os.sep}")
        # Iterate over a copy: an import in another thread would otherwise raise an error.
        for name, module in sys.modules.copy().items():
            file = getattr(module, "__file__", None)
            if name.partition(".")[0] == package and file and not file.startswith(homes):
                raise BadInput(
                    root,
                    f"{name} was imported from {file}, not from this project: its results would be recorded "
                    "under hashes of code that did not run",
                    hint="run `benchloom` in this project, without another checkout on PYTHONPATH",
                )
