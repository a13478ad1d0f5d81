"""How often Python looks for circles of objects that nothing else refers to."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (200_000, 20, 100)
"""700, 10 and 10 by default."""


def collect_seldom() -> None:
    """Look seldom: stages hold millions of cells that refer to nothing, a sixth of their time to look at."""
    gc.set_threshold(*SELDOM)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look seldom within a block, in a process that is not ours to set."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
