"""Write files atomically: write a temporary file and rename it, so that readers never see a partial file."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, and rename the file to `path` if the block succeeds.

    The temporary file is in the folder of `path`. If the block fails, the file is deleted.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, f".{path.name}.")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove temporary files and folders named `<prefix><process id>` whose process is no longer running."""
    for draft in folder.glob(f"{glob.escape(prefix)}*"):
        number = draft.name.removeprefix(prefix).partition("-")[0]
        if not number.isdigit() or is_alive(int(number)):
            continue
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def remove_drafts(folder: Path, pid: int) -> None:
    """Remove a killed process's temporary files anywhere under a folder, and folders that become empty."""
    for draft in [*folder.rglob(f".*.{pid}"), *folder.rglob(f".*.{pid}-*")]:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)
        remove_empty(draft.parent)


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty, and then each parent folder that becomes empty."""
    with suppress(OSError):
        for empty in (folder, *folder.parents):
            empty.rmdir()


def is_alive(pid: int) -> bool:
    """Return whether a process with this id is running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process exists, but belongs to another user
        return True
    return True


def write_text(path: Path, text: str) -> None:
    """Write text to a file atomically."""
    with write_beside(path) as draft:
        draft.write_text(text, encoding="utf-8")
