"""Copy the folder of methods, so that a test can add files."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tasks.streambench.methods
from tasks.streambench.methods import finding


@contextmanager
def copy_methods(folder: Path) -> Iterator[None]:
    """Search methods in a copy; afterwards remove the modules imported from the copy."""
    shutil.copytree(finding.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "FOLDER", folder)
        patch.setattr(tasks.streambench.methods, "__path__", [str(folder)])
        try:
            yield
        finally:
            for name in set(sys.modules) - before:
                if name.startswith("tasks.streambench.methods."):
                    del sys.modules[name]
