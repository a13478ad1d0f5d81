"""Read untrusted, possibly compressed files with bounded lines and memory, and detect truncation."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tasks.errors import BadInput

BLOCK = 2**20
CHUNK = 2**18
GZIP, BZIP2 = b"\x1f\x8b", b"BZh"
LONGEST_LINE = 64 * 2**20
"""Bytes of one record; a longer one is skipped."""
BROKEN = (EOFError, OSError, zlib.error)
"""What reading a compressed file raises where it is cut or damaged."""
LEAST_RATED, MOST_RATIO = 512 * 2**20, 100
"""Bytes that any archive may hold unpacked, and how many times its own size a larger one."""
DEEPEST = 100
"""Levels of JSON in each other."""
ESCAPED = re.compile(rb"\\.", re.DOTALL)
NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


class TooLong(ValueError):
    """A record of a file takes more bytes, or levels in each other, than it may."""


@contextmanager
def open_packed(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file by what it begins with: gzip, bzip2 (both of any number of streams), or plain.

    Lines, and what is read by `read1`, come up to where a file was cut; `read` would lose the last piece.
    Raises BadInput if it cannot be opened.
    """
    with _open(path) as file:
        head, size = file.read(len(BZIP2)), os.fstat(file.fileno()).st_size
        file.seek(0)
        if head.startswith(GZIP):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(_Pieces(unpacked, size), BLOCK)
        elif head == BZIP2:
            with bz2.BZ2File(file) as unpacked_bz2:
                yield io.BufferedReader(_Pieces(unpacked_bz2, size), BLOCK)
        else:
            yield io.BufferedReader(file, BLOCK)


def is_packed(stream: io.BufferedReader) -> bool:
    """Return whether what `open_packed` opened is an archive."""
    return isinstance(stream.raw, _Pieces)


def _open(path: Path) -> io.FileIO:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError as error:
        raise BadInput(path, "does not exist") from error
    except IsADirectoryError as error:
        raise BadInput(path, "is a folder", hint="name the files in it") from error
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error


class _Pieces(io.RawIOBase):
    """An archive piece by piece: asked for a whole block it would lose all of it where it is cut amid one."""

    def __init__(self, file: bz2.BZ2File | gzip.GzipFile, packed: int) -> None:
        """packed: bytes of the archive."""
        self._file, self._packed, self._read = file, packed, 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what comes at once, and fits. Raises EOFError for more than the archive's size lets expect."""
        piece = self._file.read1(len(buffer))
        self._read += len(piece)
        check_ratio(self._read, self._packed)
        buffer[: len(piece)] = piece
        return len(piece)


def check_ratio(unpacked: int, packed: int) -> None:
    """Raise EOFError where an archive of so many bytes holds more than its size lets expect."""
    if unpacked > max(LEAST_RATED, MOST_RATIO * packed):
        raise EOFError(f"unpacks to more than {MOST_RATIO} times its size")


def read_line(stream: IO[bytes], most: int) -> bytes:
    """Read the next line with its end; empty at the end of the file.

    Raises TooLong for one of more than `most` bytes, which is behind then and was never held, and what
    `BROKEN` names where the file is cut off or damaged.
    """
    line = stream.readline(most + 1)
    if len(line) <= most:
        return line
    size = len(line)
    while not line.endswith(b"\n") and (line := stream.readline(BLOCK)):
        size += len(line)
    raise TooLong(f"has {size:,} bytes")


class Metered:
    """A file for a JSON parser that reads as it likes: so many bytes between two resets, or TooLong."""

    def __init__(self, file: io.BufferedReader, most: int = LONGEST_LINE) -> None:
        self._file, self._most, self._read = file, most, 0
        self._nesting = Nesting()

    def reset(self) -> None:
        """Begin a new record."""
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes. Raises TooLong."""
        data = self._file.read1(min(size, CHUNK) if size >= 0 else CHUNK)
        self._read += len(data)
        if self._read > self._most:
            raise TooLong(f"a record of more than {self._most:,} bytes")
        self._nesting.look(data)
        return data


class Nesting:
    """Counts the nesting depth of JSON before a parser spends memory on each level."""

    def __init__(self) -> None:
        self._depth, self._in_text, self._cut = 0, False, b""

    def look(self, data: bytes) -> None:
        """Look at the next piece. Raises TooLong."""
        plain = ESCAPED.sub(b"", self._cut + data)
        self._cut = b"\\" if plain.endswith(b"\\") else b""
        parts = plain.split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        for bracket in outside.translate(None, NO_BRACKETS):
            self._depth += 1 if bracket in b"[{" else -1
            if self._depth > DEEPEST:
                raise TooLong(f"values in each other, more than {DEEPEST} deep")


def say(error: BaseException) -> str:
    """Say an error in one line."""
    said = " ".join(str(error).split())[:200]
    return said if isinstance(error, TooLong) else f"{type(error).__name__}: {said}"
