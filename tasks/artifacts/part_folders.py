"""Write folders of partial results, which appear only once they are complete."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.files import remove_leftovers


@contextmanager
def write_folder_beside(place: Path) -> Iterator[Path]:
    """Yield a new folder next to `place`; rename it to `place` if the `with` block raises no exception.

    If another process created `place` first, that folder stays, because both folders have the same content.
    """
    prefix = f".{place.name}."
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent, prefix)
    draft = place.with_name(f"{prefix}{os.getpid()}-{uuid.uuid4().hex}")
    draft.mkdir()
    try:
        yield draft
        try:
            draft.rename(place)
        except OSError:
            if not place.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
