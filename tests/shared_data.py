"""Find published data beside the project, or in BENCHLOOM_SHARED; tests without their data are skipped."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("BENCHLOOM_SHARED", Path(__file__).parents[2] / "shared" / "data"))


def needs(name: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if the named data are missing."""
    return pytest.mark.skipif(
        not (SHARED / name).exists(), reason=f"no {name} in {SHARED} (BENCHLOOM_SHARED)"
    )
