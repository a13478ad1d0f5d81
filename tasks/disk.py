"""Check free disk space, because SQLite and Git report a full disk only as a general failure."""

from __future__ import annotations

import shutil
from pathlib import Path

LITTLE_ROOM = 1 << 20
"""Free bytes below which a failed write is attributed to a full disk."""


def is_disk_full(path: Path) -> bool:
    """Return whether the disk that contains a path has less than 1 MiB free."""
    there = next((place for place in (path, *path.parents) if place.exists()), None)
    return there is not None and shutil.disk_usage(there).free < LITTLE_ROOM
