"""Run Python's garbage collector less often, since stages create millions of objects without cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (200_000, 20, 100)
"""Thresholds for the garbage collector's three generations; Python's defaults are 700, 10 and 10."""


def collect_seldom() -> None:
    """Set high thresholds for garbage collection, which by default uses a sixth of a stage's time."""
    gc.set_threshold(*SELDOM)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Set high thresholds for garbage collection in a block; restore the previous thresholds at its end."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
