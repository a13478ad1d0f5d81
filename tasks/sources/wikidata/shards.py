"""The parts of a dump that are read each by itself: by files, streams of bzip2, and lines of plain JSON."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from tasks.errors import BadInput
from tasks.sources.streams import BLOCK, BZIP2, GZIP
from tasks.sources.wikidata.dump import BOM, MOST_BYTES, open_dump
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.streams import PlainRange, StreamRange, find_line, find_stream, open_unbuffered

PACKED, PLAIN = 2 * 2**20, 64 * 2**20
"""Least bytes of a part of a bzip2 file, of plain JSON: a second or so of reading."""
MOST_PARTS = 256
"""Of a file: those of larger files are larger."""
IDENTIFIED = 2**16
CODE = (*sorted(Path(__file__).parent.glob("*.py")), Path(__file__).parents[1] / "streams.py")
"""What shapes the bytes of a part."""


@dataclass(frozen=True)
class DumpPart:
    """Bytes of a file that are read at once. end: None = of the file. key: of what is made of it."""

    path: Path
    begin: int
    end: int | None
    key: str


@dataclass(frozen=True)
class PartSize:
    """Bytes of a part, as they lie in the file, of bzip2 and of plain JSON."""

    packed: int = PACKED
    plain: int = PLAIN


SIZE = PartSize()


def plan_parts(
    paths: Sequence[Path], selection: EntitySelection, size: PartSize = SIZE, most: int = MOST_BYTES
) -> list[DumpPart]:
    """Cut files into parts, in their order: the same for any number of workers. Raises BadInput.

    A part's key stands for the file (name, size, time of change, beginning), the part's place, the selection
    and this code.
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
    """Tell a file from others, and from what it was: name, bytes, time of change, SHA-256 of its beginning.

    Raises BadInput if it cannot be read.
    """
    try:
        found = path.stat()
        with open_unbuffered(path) as file:
            head = hashlib.sha256(file.read(IDENTIFIED)).hexdigest()
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error
    return str(path), found.st_size, found.st_mtime_ns, head


def describe_selection(selection: EntitySelection) -> list[list[str] | None]:
    """List what is asked for, sorted."""
    asked = (
        selection.entities, selection.classes, selection.properties, selection.languages, selection.sites
    )  # fmt: skip
    return [None if names is None else sorted(names) for names in asked]


@cache
def hash_code() -> str:
    """SHA-256 of the code that reads dumps."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in CODE)).hexdigest()


def list_cuts(path: Path, size: PartSize) -> list[int]:
    """List where the parts of a file begin. One of gzip, or of one stream or document, is one part."""
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
    """Open a part for reading its lines; with it what tells whether streams of bzip2 ended early."""
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
