"""Files are written beside their place and renamed there, so that no reader sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Give a draft's path in the same folder; it takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file."""
    with write_beside(path) as draft:
        draft.write_text(text, encoding="utf-8")
