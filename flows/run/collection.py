"""How often Python looks for circles of objects that nothing else refers to."""

from __future__ import annotations

import gc

SELDOM = (200_000, 20, 100)
"""700, 10 and 10 by default."""


def collect_seldom() -> None:
    """Look seldom: stages hold millions of cells that refer to nothing, a sixth of their time to look at."""
    gc.set_threshold(*SELDOM)
