"""Write datasets for publication: JSON Lines, and folders that appear only once they are complete."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tasks.files import remove_leftovers


def write_jsonl(path: Path, rows: Iterable[Mapping[str, object]]) -> int:
    """Write one JSON object per row; return the number of lines. Raises ValueError for NaN or infinity."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


@contextmanager
def draft_folder(out: Path) -> Iterator[Path]:
    """Yield an empty folder next to `out`; rename it to `out` if the `with` block raises no exception.

    The new folder replaces any existing `out`.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    remove_leftovers(out.parent, f".{out.name}.")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        yield draft
        # A folder can be renamed only to a path that does not exist or is an empty folder.
        if out.is_dir():
            shutil.rmtree(out)
        draft.replace(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
