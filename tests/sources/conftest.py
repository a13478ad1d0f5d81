from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tasks.sources.packages import FILES, copy_packaged


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's raw files, copied like `make setup`."""
    for name in sorted({file.package for file in FILES}):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed (`make setup`)")
    folder = tmp_path_factory.mktemp("packages")
    copy_packaged(folder)
    return folder
