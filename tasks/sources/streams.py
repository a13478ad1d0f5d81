"""Read untrusted, possibly compressed files with limits on lines and memory, and detect truncation."""

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
"""Maximum number of bytes of one record; a longer record is skipped."""
BROKEN = (EOFError, OSError, zlib.error)
"""Errors that reading a compressed file raises if it is truncated or damaged."""
LEAST_RATED, MOST_RATIO = 512 * 2**20, 100
"""Unpacked size in bytes up to which any compression ratio is allowed, and the maximum ratio above it."""
DEEPEST = 100
"""Maximum nesting depth of JSON."""
ESCAPED = re.compile(rb"\\.", re.DOTALL)
NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


class TooLong(ValueError):
    """Raised if a record has too many bytes or too many nesting levels."""


@contextmanager
def open_packed(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file as gzip, bzip2 or plain, according to its first bytes.

    A gzip or bzip2 file may have several streams. Read the result line by line or with `read1`, which return
    all data before a truncation; `read` would lose the last block. Raises BadInput if the file cannot be
    opened.
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
    """Return whether a stream that `open_packed` opened is compressed."""
    return isinstance(stream.raw, _Pieces)


def _open(path: Path) -> io.FileIO:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError as error:
        raise BadInput(path, "does not exist") from error
    except IsADirectoryError as error:
        raise BadInput(path, "is a folder", hint="give the files in the folder") from error
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error


class _Pieces(io.RawIOBase):
    """A decompressed stream that returns all data before a truncation and limits the compression ratio."""

    def __init__(self, file: bz2.BZ2File | gzip.GzipFile, packed: int) -> None:
        """Store the open file. `packed`: the size of the compressed file in bytes."""
        self._file, self._packed, self._read = file, packed, 0

    def readable(self) -> bool:
        """Return True: the stream is readable."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read the next available bytes. Raises EOFError if the compression ratio is too high."""
        piece = self._file.read1(len(buffer))
        self._read += len(piece)
        check_ratio(self._read, self._packed)
        buffer[: len(piece)] = piece
        return len(piece)


def check_ratio(unpacked: int, packed: int) -> None:
    """Raise EOFError if an archive unpacks to more bytes than the compression ratio allows."""
    if unpacked > max(LEAST_RATED, MOST_RATIO * packed):
        raise EOFError(f"unpacks to more than {MOST_RATIO} times its size")


def read_line(stream: IO[bytes], most: int) -> bytes:
    """Return the next line with its line break; empty at the end of the file.

    Raises TooLong if the line has more than `most` bytes; the line is skipped, and is never in memory as a
    whole. Raises one of the errors in `BROKEN` if the file is truncated or damaged.
    """
    line = stream.readline(most + 1)
    if len(line) <= most:
        return line
    size = len(line)
    while not line.endswith(b"\n") and (line := stream.readline(BLOCK)):
        size += len(line)
    raise TooLong(f"has {size:,} bytes; at most {most:,} are allowed")


class Metered:
    """Wraps a file for a JSON parser: at most `most` bytes are read between two resets."""

    def __init__(self, file: io.BufferedReader, most: int = LONGEST_LINE) -> None:
        self._file, self._most, self._read = file, most, 0
        self._nesting = Nesting()

    def reset(self) -> None:
        """Reset the count of bytes, because a new record starts."""
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes. Raises TooLong if the record is too large or too deeply nested."""
        data = self._file.read1(min(size, CHUNK) if size >= 0 else CHUNK)
        self._read += len(data)
        if self._read > self._most:
            raise TooLong(f"a record has more than {self._most:,} bytes")
        self._nesting.look(data)
        return data


class Nesting:
    """Counts the nesting depth of JSON before a parser allocates memory for each level."""

    def __init__(self) -> None:
        self._depth, self._in_text, self._cut = 0, False, b""

    def look(self, data: bytes) -> None:
        """Count the brackets in the next block of data. Raises TooLong if the nesting is too deep."""
        plain = ESCAPED.sub(b"", self._cut + data)
        # A backslash at the end of a block escapes the first byte of the next block.
        self._cut = b"\\" if plain.endswith(b"\\") else b""
        parts = plain.split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        for bracket in outside.translate(None, NO_BRACKETS):
            self._depth += 1 if bracket in b"[{" else -1
            if self._depth > DEEPEST:
                raise TooLong(f"values are nested more than {DEEPEST} levels deep")


def say(error: BaseException) -> str:
    """Return an error's type and message on one line; for TooLong, only the message."""
    said = " ".join(str(error).split())[:200]
    return said if isinstance(error, TooLong) else f"{type(error).__name__}: {said}"
