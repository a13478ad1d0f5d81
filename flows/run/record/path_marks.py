"""Detect changes to a file or folder from its metadata, without reading the content."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

Mark = tuple[tuple[str, int, int, int], ...]
"""One tuple for a file, or for each file of a folder: path, size in bytes, inode, mtime in ns."""


def mark_path(full: str | Path) -> Mark | None:
    """Return the metadata (`Mark`) of a file or folder at an absolute path; None if it does not exist."""
    try:
        status = os.stat(full)  # noqa: PTH116 - called thousands of times
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISDIR(status.st_mode):
        return (mark_file("", status),)
    return tuple(sorted(walk_marks(full)))


def walk_marks(folder: str | Path) -> Iterator[tuple[str, int, int, int]]:
    """Yield the metadata of every file in a folder and its subfolders."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from walk_marks(entry.path)
            else:
                yield mark_file(entry.path, entry.stat())


def mark_file(path: str, status: os.stat_result) -> tuple[str, int, int, int]:
    """Return the metadata of one file."""
    return path, status.st_size, status.st_ino, status.st_mtime_ns
