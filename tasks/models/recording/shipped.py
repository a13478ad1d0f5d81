"""Read and write the ledgers that ship with a project: `data/ledger/<flow>.jsonl.gz`, one entry per line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tasks.errors import BadInput
from tasks.files import write_beside
from tasks.models.recording.entries import LedgerEntry

MAX_LINE = 40_000_000
"""Maximum length of a line in bytes."""
MAX_RATIO, FREE_BYTES = 100, 1 << 22
"""A ledger may decompress to at most MAX_RATIO times its size plus FREE_BYTES.

Ledger keys are hashes, which hardly compress, so the ratio of a valid file is much lower.
"""


def read_shipped(path: Path) -> dict[str, LedgerEntry]:
    """Return a shipped ledger as {key: entry}. Raises BadInput with the file and the line."""
    return {entry.key: entry for entry in iterate_shipped(path)}


def iterate_shipped(path: Path) -> Iterator[LedgerEntry]:
    """Yield the entries of a shipped ledger one by one. Raises BadInput with the file and the line."""
    number = 0
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as file:
            unpacked = 0
            while line := file.readline(MAX_LINE + 1):
                number, unpacked = number + 1, unpacked + len(line)
                if len(line) > MAX_LINE:
                    raise BadInput(path, f"has more than {MAX_LINE} bytes", line=number)
                if unpacked > FREE_BYTES + MAX_RATIO * raw.tell():
                    raise BadInput(path, f"unpacks to more than {MAX_RATIO} times its size", line=number)
                yield _read_line(path, number, line)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(
            path, f"cannot be read as gzip: {error}", line=number + 1, hint="restore the file"
        ) from error


def _read_line(path: Path, number: int, line: bytes) -> LedgerEntry:
    try:
        return LedgerEntry.from_line(line.decode())
    except ValueError as error:
        raise BadInput(
            path, f"is not a ledger entry: {error}", line=number, hint="restore the file"
        ) from error


def write_shipped(path: Path, entries: Iterable[LedgerEntry]) -> int:
    """Write entries sorted by key; return their number. Equal entries give equal bytes."""
    ordered = sorted({entry.key: entry for entry in entries}.values(), key=lambda entry: entry.key)
    with (
        write_beside(path) as draft,
        draft.open("wb") as raw,
        # The gzip header contains no time and no file name, so that equal entries give equal bytes.
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=9) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(entry.to_line() + "\n" for entry in ordered)
    return len(ordered)
