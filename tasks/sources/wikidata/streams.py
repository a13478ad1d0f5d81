"""A part of a dump's file, unpacked: the lines that begin in it, whole."""

from __future__ import annotations

import bz2
import io
import re
from pathlib import Path
from typing import Any

from tasks.sources.streams import CHUNK

STREAM = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
"""How a stream of bzip2 begins: its head, and the mark of a block, or of the end where it is empty."""
HEAD = 10
TRIED = 2 * 2**20
"""Bytes that are unpacked of what looks like a stream: more than a block takes."""


class PlainRange(io.RawIOBase):
    """Some bytes of a file, which begin and end where lines do."""

    def __init__(self, file: io.FileIO, begin: int, end: int) -> None:
        self._file, self._left = file, end - begin
        file.seek(begin)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what fits."""
        data = self._file.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)


class StreamRange(io.RawIOBase):
    """Some streams of a bzip2 file, which may be cut amid a line.

    The first line is left to whoever reads what is before, but at the beginning of the file; the line that
    goes on, or begins, where the streams end is read whole. end: None = of the file. `early` tells that
    streams do not end where they should.
    """

    def __init__(self, file: io.FileIO, begin: int, end: int | None) -> None:
        self._file, self._end = file, end
        file.seek(begin)
        self._unpacker: bz2.BZ2Decompressor | None = None
        self._beyond, self._over, self._skipping = False, False, begin > 0
        self.early = False

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what comes at once, and fits. Raises EOFError, OSError where the file is cut or damaged."""
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
        """Unpack the next piece; empty at the end, also where what follows a stream is none."""
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
    """Find where the first stream of bzip2 begins at or behind a place; None if there is none."""
    place, held = begin, b""
    file.seek(begin)
    while block := file.read(2**20):
        held += block
        for found in STREAM.finditer(held):
            if _is_stream(file, place + found.start()):
                return place + found.start()
        file.seek(place + len(held))
        cut = max(0, len(held) - HEAD + 1)
        place, held = place + cut, held[cut:]
    return None


def find_line(file: io.FileIO, begin: int) -> int | None:
    """Find where the first line begins behind a place; None if there is none."""
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
    """Open a file for jumps. Raises OSError."""
    return path.open("rb", buffering=0)
