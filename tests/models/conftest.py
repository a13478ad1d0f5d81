"""Fixtures for tests of the model layer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.ledger_places import ENGINES, place_ledger


@pytest.fixture(params=ENGINES)
def live(request, tmp_path) -> Iterator[Path | str]:
    """The address of a live ledger that does not exist yet, on each engine in turn."""
    with place_ledger(request.param, tmp_path) as address:
        yield address
