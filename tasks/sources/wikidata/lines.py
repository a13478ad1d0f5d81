"""Lines of a dump's file, unpacked as they are read; a line that is too long is passed over, never held."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tasks.errors import BadInput

BLOCK = 2**20
GZIP, BZIP2, BOM = b"\x1f\x8b", b"BZh", b"\xef\xbb\xbf"
JSON_BEGINS = (b"", b"[", b"{", b" ", b"\n", b"\r", b"\t")
BROKEN = (EOFError, OSError, zlib.error, gzip.BadGzipFile)


class TooLong(Exception):
    """A line passes the limit; `size` is its length in bytes, unpacked."""

    def __init__(self, size: int) -> None:
        super().__init__(f"has {size:,} bytes")
        self.size = size


@contextmanager
def open_dump(path: Path) -> Iterator[IO[bytes]]:
    """Open a dump's file by what it begins with: gzip, bzip2 (both of any number of streams), or JSON.

    Raises BadInput for what is none of these.
    """
    with _open(path) as file:
        begin = file.read(3)
        file.seek(0)
        if begin.startswith(GZIP):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(unpacked, BLOCK)
        elif begin == BZIP2:
            with bz2.BZ2File(file) as unpacked_bz2:
                yield io.BufferedReader(unpacked_bz2, BLOCK)
        elif begin == BOM or begin[:1] in JSON_BEGINS:
            yield io.BufferedReader(file, BLOCK)
        else:
            raise BadInput(path, "is no dump", hint=".json, .json.gz or .json.bz2")


def _open(path: Path) -> io.FileIO:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError as error:
        raise BadInput(path, "is not there") from error
    except IsADirectoryError as error:
        raise BadInput(path, "is a folder", hint="name its files") from error
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error


def read_line(stream: IO[bytes], most: int) -> bytes:
    """Read the next line with its end; empty at the end of the file.

    Raises TooLong for one of more than `most` bytes, which is behind then; EOFError, OSError or zlib.error
    where the archive is cut off or damaged.
    """
    line = stream.readline(most + 1)
    if len(line) <= most:
        return line
    size = len(line)
    while not line.endswith(b"\n") and (line := stream.readline(BLOCK)):
        size += len(line)
    raise TooLong(size)
