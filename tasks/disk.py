"""Room on a disk. SQLite and Git say of a full one only that something failed."""

from __future__ import annotations

import shutil
from pathlib import Path

LITTLE_ROOM = 1 << 20
"""Bytes below which what fails to be written has failed for want of room."""


def is_disk_full(path: Path) -> bool:
    """Tell whether the disk that a path is on has no room left."""
    there = next((place for place in (path, *path.parents) if place.exists()), None)
    return there is not None and shutil.disk_usage(there).free < LITTLE_ROOM
