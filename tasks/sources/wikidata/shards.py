"""Split a dump into parts that can be read independently: files, bzip2 streams, or ranges of JSON lines.

Each line is read in exactly one part. A line that crosses the end of a part is read in that part.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.sources.streams import BLOCK, BZIP2, CHUNK, GZIP
from tasks.sources.wikidata.dump import BOM, MOST_BYTES, open_dump
from tasks.sources.wikidata.entities import EntitySelection

STREAM = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
"""Matches the start of a bzip2 stream: its header and a block marker, or the end marker of an empty
stream."""
HEAD = 10
TRIED = 2 * 2**20
"""Number of compressed bytes to read to verify the start of a stream; a block is smaller."""
PACKED, PLAIN = 2 * 2**20, 64 * 2**20
"""Minimum size in bytes of a part of a bzip2 file, and of a part of plain JSON; reading a part of this
size takes about a second."""
MOST_PARTS = 256
"""Maximum number of parts per file; larger files get larger parts."""
# Number of bytes at the beginning of a file that identify the file.
IDENTIFIED = 2**16
CODE = (*sorted(Path(__file__).parent.glob("*.py")), Path(__file__).parents[1] / "streams.py")
"""The source files that determine the content of a part; part keys contain their hash."""


class PlainRange(io.RawIOBase):
    """A byte range of a file, which starts and ends at line boundaries."""

    def __init__(self, file: io.FileIO, begin: int, end: int) -> None:
        self._file, self._left = file, end - begin
        file.seek(begin)

    def readable(self) -> bool:
        """Return True: the stream is readable."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read as many bytes as fit into the buffer."""
        data = self._file.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)


class StreamRange(io.RawIOBase):
    """A range of bzip2 streams in a file; a line may cross the boundaries of the range.

    The text up to the first line break belongs to the previous range, except at the start of the file. Text
    after the end of the range is also read, up to its first line break.

    - `end`: None means the end of the file.
    - `early`: whether a stream did not end at the expected position.
    """

    def __init__(self, file: io.FileIO, begin: int, end: int | None) -> None:
        self._file, self._end = file, end
        file.seek(begin)
        self._unpacker: bz2.BZ2Decompressor | None = None
        self._beyond, self._over, self._skipping = False, False, begin > 0
        self.early = False

    def readable(self) -> bool:
        """Return True: the stream is readable."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read the next available bytes. Raises EOFError or OSError if the file is truncated or damaged."""
        while not self._over:
            data = self._unpack(len(buffer))
            if not data or (self._skipping and self._beyond):
                self._over = True
                break
            if self._skipping:
                _, found, data = data.partition(b"\n")
                self._skipping = not found
            if self._beyond and (cut := data.find(b"\n") + 1):
                self._over, data = True, data[:cut]
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0

    def _unpack(self, size: int) -> bytes:
        """Decompress and return the next bytes; return b"" at the end, or if no valid stream follows."""
        while True:
            if self._unpacker is None or self._unpacker.eof:
                packed = (self._unpacker.unused_data if self._unpacker else b"") or self._file.read(CHUNK)
                if not packed:
                    self.early |= self._end is not None and not self._beyond
                    return b""
                self._note_stream(self._file.tell() - len(packed))
                first, self._unpacker = self._unpacker is None, bz2.BZ2Decompressor()
                try:
                    data = self._unpacker.decompress(packed, size)
                except OSError:
                    self.early = True
                    if first:
                        raise
                    return b""
            else:
                packed = b""
                if self._unpacker.needs_input and not (packed := self._file.read(CHUNK)):
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                data = self._unpacker.decompress(packed, size)
            if data:
                return data

    def _note_stream(self, start: int) -> None:
        if self._end is not None and not self._beyond and start >= self._end:
            self._beyond = True
            self.early |= start > self._end


def find_stream(file: io.FileIO, begin: int) -> int | None:
    """Return the offset of the first bzip2 stream at or after `begin`; None if no stream follows."""
    place, held = begin, b""
    file.seek(begin)
    while block := file.read(2**20):
        held += block
        for found in STREAM.finditer(held):
            if _is_stream(file, place + found.start()):
                return place + found.start()
        file.seek(place + len(held))
        # The start of a stream may cross the boundary of two blocks.
        cut = max(0, len(held) - HEAD + 1)
        place, held = place + cut, held[cut:]
    return None


def find_line(file: io.FileIO, begin: int) -> int | None:
    """Return the offset of the first line that starts after `begin`; None if no line follows."""
    file.seek(begin)
    while block := file.read(2**20):
        found = block.find(b"\n")
        if found >= 0:
            return file.tell() - len(block) + found + 1
    return None


def _is_stream(file: io.FileIO, place: int) -> bool:
    file.seek(place)
    unpacker = bz2.BZ2Decompressor()
    try:
        return bool(unpacker.decompress(file.read(TRIED), 2**10)) or unpacker.eof
    except OSError:
        return False


def open_unbuffered(path: Path) -> io.FileIO:
    """Open a file for random access. Raises OSError."""
    return path.open("rb", buffering=0)


@dataclass(frozen=True)
class DumpPart:
    """A byte range of a file that one step reads. `end`: None means the end of the file.

    `key`: the name of the part's results; a hash of the file, the range, the selection and the code.
    """

    path: Path
    begin: int
    end: int | None
    key: str


@dataclass(frozen=True)
class PartSize:
    """Target size in bytes of a part of a bzip2 file (compressed), and of a part of plain JSON."""

    packed: int = PACKED
    plain: int = PLAIN


SIZE = PartSize()


def plan_parts(
    paths: Sequence[Path], selection: EntitySelection, size: PartSize = SIZE, most: int = MOST_BYTES
) -> list[DumpPart]:
    """Return the parts of the files, in order; the parts do not depend on the number of workers.

    Raises BadInput if a file cannot be read or is not a dump. A part's key is a hash of the file (name, size,
    modification time, beginning), the range, the selection and the code that reads dumps.
    """
    parts: list[DumpPart] = []
    for path in paths:
        with open_dump(path):
            pass
        asked = [*identify(path), most, describe_selection(selection), hash_code()]
        cuts = list_cuts(path, size)
        for begin, end in pairwise([*cuts, None]):
            key = hashlib.sha256(json.dumps([asked, begin, end]).encode()).hexdigest()[:32]
            parts.append(DumpPart(path, begin or 0, end, key))
    return parts


def identify(path: Path) -> tuple[str, int, int, str]:
    """Return a file's name, size and modification time, and the SHA-256 of its beginning.

    Together, these values identify the file and its version. Raises BadInput if the file cannot be read.
    """
    try:
        found = path.stat()
        with open_unbuffered(path) as file:
            head = hashlib.sha256(file.read(IDENTIFIED)).hexdigest()
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error
    return str(path), found.st_size, found.st_mtime_ns, head


def describe_selection(selection: EntitySelection) -> list[list[str] | None]:
    """Return the fields of a selection as sorted lists; None stays None."""
    asked = (
        selection.entities, selection.classes, selection.properties, selection.languages, selection.sites
    )  # fmt: skip
    return [None if names is None else sorted(names) for names in asked]


@cache
def hash_code() -> str:
    """Return the SHA-256 of the source code that reads dumps."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in CODE)).hexdigest()


def list_cuts(path: Path, size: PartSize) -> list[int]:
    """Return the offsets at which a file's parts begin.

    A gzip file, a single bzip2 stream, and a single JSON document whose first line is `{` have only one part.
    """
    with open_unbuffered(path) as file:
        head = file.read(BLOCK)
        if head.startswith(GZIP) or head.partition(b"\n")[0].removeprefix(BOM).strip() == b"{":
            return [0]
        packed = head.startswith(BZIP2)
        whole = path.stat().st_size
        step = max(size.packed if packed else size.plain, whole // MOST_PARTS)
        find = find_stream if packed else find_line
        cuts = [0]
        while (wanted := cuts[-1] + step) < whole:
            found = find(file, wanted)
            if found is None or found >= whole:
                break
            cuts.append(found)
    return cuts


@contextmanager
def open_part(part: DumpPart) -> Iterator[tuple[io.BufferedReader, StreamRange | None]]:
    """Open a part for reading lines; also yield its `StreamRange` if it is a range of bzip2 streams."""
    if part.begin == 0 and part.end is None:
        with open_dump(part.path) as stream:
            yield stream, None
        return
    with open_unbuffered(part.path) as file:
        if file.read(len(BZIP2)) == BZIP2:
            streams = StreamRange(file, part.begin, part.end)
            yield io.BufferedReader(streams, BLOCK), streams
        else:
            end = part.path.stat().st_size if part.end is None else part.end
            yield io.BufferedReader(PlainRange(file, part.begin, end), BLOCK), None
