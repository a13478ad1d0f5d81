"""Check free disk space: SQLite and Git report a full disk only as a general failure."""

from __future__ import annotations

import shutil
from pathlib import Path

LITTLE_ROOM = 1 << 20
"""Bytes below which what fails to be written has failed for want of room."""


def is_disk_full(path: Path) -> bool:
    """Return whether the disk that a path is on has no room left."""
    there = next((place for place in (path, *path.parents) if place.exists()), None)
    return there is not None and shutil.disk_usage(there).free < LITTLE_ROOM
