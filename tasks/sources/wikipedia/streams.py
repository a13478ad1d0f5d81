"""Open files that may be compressed, and taken for hostile: bounded lines, bounded pieces, early ends."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from tasks.errors import BadInput

CHUNK = 2**18
LONGEST_LINE = 64 * 2**20
"""Bytes of one record; a longer one is skipped."""
BROKEN = (EOFError, OSError, zlib.error)
"""What reading a compressed file raises where it is cut or damaged."""


class TooLong(ValueError):
    """One record of a file takes more bytes than it may."""


@contextmanager
def open_bytes(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file by what it begins with: bzip2, gzip or plain. Raises BadInput if it cannot be opened.

    What is read by `read1` comes up to where a file was cut; `read` would lose the last piece.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error
    with raw:
        head = raw.read(4)
        raw.seek(0)
        if head.startswith(b"BZh"):
            with bz2.BZ2File(raw) as file:
                yield file
        elif head.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=raw) as packed:
                yield packed
        else:
            yield raw


def read_lines(file: BufferedIOBase, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """Yield (number from 1 on, line); None for one longer than `longest` bytes, of which no more is held.

    Raises what `BROKEN` names where the file ends early.
    """
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) <= longest:
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(longest)
        yield number, None


class Metered:
    """A file for a parser that reads as it likes: so many bytes between two resets, or TooLong."""

    def __init__(self, file: BufferedIOBase, most: int = LONGEST_LINE) -> None:
        self._file, self._most, self._read = file, most, 0

    def reset(self) -> None:
        """Begin a new record."""
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes. Raises TooLong."""
        data = self._file.read1(min(size, CHUNK) if size >= 0 else CHUNK)
        self._read += len(data)
        if self._read > self._most:
            raise TooLong(f"a record of more than {self._most:,} bytes")
        return data


def say(error: BaseException) -> str:
    """Say an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
