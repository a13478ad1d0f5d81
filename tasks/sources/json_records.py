"""Read the records of a JSON file, plain or compressed: an array, JSON Lines, or an object with a list."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ijson
import orjson

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, Metered, TooLong, open_packed, read_line, say

MOST_BYTES = 64 * 2**20
"""Maximum size in bytes of one record, or of a document that is not an array."""
LISTS = ("data", "questions", "examples", "records", "items", "dataset")
"""Field names that may contain the list of records, if the document is an object."""
BOM = b"\xef\xbb\xbf"
HINT = "give a .json or .jsonl file as published, plain or gzipped"


@dataclass(frozen=True)
class BrokenRecord:
    """A record that cannot be read.

    `why`: the reason, on one line. `ended`: whether reading stops at this record.
    """

    why: str
    ended: bool = False


def read_records(path: Path) -> Iterator[tuple[str, object]]:
    """Yield each record of a file with its position (`line 3`, `record 3`).

    Arrays and JSON Lines are streamed; other documents are read whole. A record that cannot be read is
    yielded as a `BrokenRecord`. Raises BadInput if the file contains no array or object, or if an array's
    first record cannot be read.
    """
    with open_packed(path) as stream:
        if stream.peek(len(BOM))[: len(BOM)] == BOM:
            stream.read(len(BOM))
        begin = _peek_sign(stream)
        if begin == b"[":
            yield from _read_array(path, stream)
        elif begin == b"{":
            yield from _read_lines(path, stream)
        else:
            raise BadInput(path, "is empty" if not begin else "is not valid JSON", hint=HINT)


def _peek_sign(stream: io.BufferedReader) -> bytes:
    """Return the first non-blank byte without consuming it; `?` if the file is damaged."""
    try:
        while (block := stream.peek(1)).isspace():
            stream.read(len(block))
    except BROKEN:
        return b"?"
    return block.lstrip()[:1]


def _read_array(path: Path, stream: io.BufferedReader) -> Iterator[tuple[str, object]]:
    metered, number = Metered(stream, MOST_BYTES), 0
    try:
        # Without use_float, ijson yields Decimal, which json and orjson cannot write.
        for record in ijson.items(metered, "item", use_float=True):
            number += 1
            metered.reset()
            yield f"record {number}", record
    except (ijson.JSONError, TooLong, UnicodeDecodeError, RecursionError, *BROKEN) as error:
        if not number:
            raise BadInput(path, f"is not valid JSON: {say(error)}", hint=HINT) from error
        yield f"record {number + 1}", BrokenRecord(say(error), ended=True)


def _read_lines(path: Path, stream: io.BufferedReader) -> Iterator[tuple[str, object]]:
    number = 0
    while True:
        number += 1
        place = f"line {number}"
        try:
            line = read_line(stream, MOST_BYTES)
        except TooLong as error:
            yield place, BrokenRecord(str(error))
            continue
        except BROKEN as error:
            yield place, BrokenRecord(say(error), ended=True)
            return
        if not line:
            return
        if not line.strip():
            continue
        record = _decode(line)
        # A document over several lines looks like JSON Lines with a broken first line.
        if number == 1 and isinstance(record, BrokenRecord):
            document = _read_document(path)
            if document is not None:
                yield from _unfold("record 1", document)
                return
        yield from _unfold(place, record)


def _read_document(path: Path) -> object:
    """Return the JSON document in a file; None if the file is too large, damaged or not valid JSON."""
    pieces: list[bytes] = []
    size = 0
    with open_packed(path) as stream:
        try:
            while size <= MOST_BYTES and (piece := stream.read1(2**18)):
                pieces.append(piece)
                size += len(piece)
        except BROKEN:
            return None
    record = _decode(b"".join(pieces).removeprefix(BOM)) if size <= MOST_BYTES else None
    return None if isinstance(record, BrokenRecord) else record


def _decode(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        # orjson reports a failed memory allocation as invalid JSON.
        if "Not enough memory" in str(error):
            raise MemoryError from error
        return BrokenRecord(say(error))


def _unfold(place: str, record: object) -> Iterator[tuple[str, object]]:
    """Yield the records in `record` if it is an object with a list of records; otherwise yield `record`."""
    if isinstance(record, dict):
        listed = [name for name in LISTS if isinstance(record.get(name), list)]
        if len(listed) == 1 and not any("question" in name and name not in LISTS for name in record):
            for number, part in enumerate(record[listed[0]], 1):
                yield f"record {number}", part
            return
    yield place, record
