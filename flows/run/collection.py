"""Run Python's garbage collector less often, since stages hold millions of objects without cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (200_000, 20, 100)
"""Thresholds of the three generations; Python's defaults are 700, 10 and 10."""


def collect_seldom() -> None:
    """Set high thresholds: otherwise a sixth of a stage's time is spent on garbage collection."""
    gc.set_threshold(*SELDOM)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Set high thresholds within a block, and restore the previous ones at its end."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
