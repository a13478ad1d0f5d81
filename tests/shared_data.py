"""Published data that lie beside the project, or where BENCHLOOM_SHARED says: tests on them skip without."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("BENCHLOOM_SHARED", Path(__file__).parents[2] / "shared" / "data"))


def needs(name: str) -> pytest.MarkDecorator:
    """Skip a test where the data of that name are not there."""
    return pytest.mark.skipif(
        not (SHARED / name).exists(), reason=f"no {name} in {SHARED} (BENCHLOOM_SHARED)"
    )
