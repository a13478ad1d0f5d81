"""Ledgers that ship with a project: `data/ledger/<flow>.jsonl.gz`, read-only, one entry per line."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from tasks.errors import BadInput
from tasks.models.entries import LedgerEntry


def read_shipped(path: Path) -> dict[str, LedgerEntry]:
    """Read a shipped ledger as {key: entry}. Raises BadInput that names file and line."""
    entries: dict[str, LedgerEntry] = {}
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                entry = _read_line(path, number, line)
                entries[entry.key] = entry
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadInput(
            path, f"cannot be read as gzip: {error}", line=number + 1, hint="restore the file"
        ) from error
    return entries


def _read_line(path: Path, number: int, line: str) -> LedgerEntry:
    try:
        return LedgerEntry.from_line(line)
    except ValueError as error:
        raise BadInput(path, f"is no ledger entry: {error}", line=number, hint="restore the file") from error


def write_shipped(path: Path, entries: Iterable[LedgerEntry]) -> int:
    """Write entries sorted by key; return how many. The same entries give the same bytes."""
    ordered = sorted({entry.key: entry for entry in entries}.values(), key=lambda entry: entry.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with (
        draft.open("wb") as raw,
        # No time and no file name in the gzip header.
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=9) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(entry.to_line() + "\n" for entry in ordered)
    draft.replace(path)
    return len(ordered)
