"""Tests that every hostile input is refused or harmless: within its time, one line, no lasting effects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.hostile.corpus import KINDS, draw_inputs, load_kind, read_inputs
from tests.hostile.runner import throw_all

IN_EVERY_RUN = 12
SEED = 20


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_enough_and_half_are_made(kind: str) -> None:
    inputs = read_inputs(kind)
    assert len(inputs) >= load_kind(kind).at_least
    assert sum(hostile.seed is not None for hostile in inputs) >= len(inputs) / 2
    assert [name for name, count in Counter(hostile.name for hostile in inputs).items() if count > 1] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_them(kind: str, tmp_path: Path) -> None:
    assert throw_all(kind, draw_inputs(kind, IN_EVERY_RUN, SEED), tmp_path) == []


@pytest.mark.drill
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("kind", KINDS)
def test_all_of_them(kind: str, tmp_path: Path) -> None:
    assert throw_all(kind, read_inputs(kind), tmp_path) == []
