"""Read items from JSON Lines, plain or gzipped, from a file or stdin, and tolerate broken lines.

An unreadable line is yielded as an `UnreadableLine`, not raised as an error, so that the other lines can be
scored.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from tasks.errors import BadInput, BenchloomError

Record = dict[str, Any]

ID_TYPES = frozenset({str, int})  # type() comparison excludes bool, a subclass of int

MAX_LINE_BYTES = 16 * 2**20
"""Maximum length of a line in bytes."""
MAX_DEPTH = 100
"""Maximum nesting depth of a record's lists and objects."""
GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
NOT_JSON = re.compile(rb"(?<![\w\"])-?(NaN|Infinity)\b")
"""Matches numbers that Python's json module writes but JSON does not allow."""
ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
LONG_NUMBER = b"0" * 19
"""A sequence of 19 zeros, to detect numbers that may exceed 64 bits.

After translation with ZEROS, every number with 19 or more digits contains LONG_NUMBER.
"""


class BadItem(BenchloomError):
    """Raised for an unreadable line or record; the message states the problem in one clause."""


NumberedRecord = tuple[int, Record | BadItem]
"""The number of a line or row, counted from 1, and its record or a reading error."""


class ItemLine(NamedTuple):
    """A readable line. `number`: the line's number, counted from 1."""

    number: int
    record: Record


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that could not be read, and the reason."""

    number: int
    why: str


@contextmanager
def open_items(path: str) -> Iterator[BinaryIO]:
    """Open a file of items for reading bytes; `-` is stdin, and gzip is detected by its first bytes.

    Raises BadInput if the file is missing, is a folder, cannot be opened, is binary, or is UTF-16.
    """
    with open_bytes(path) as raw:
        head = raw.peek(2)[:2]
        stream = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if head == GZIP_MAGIC else raw
        try:
            start = stream.peek(4096)[:4096]
        except (EOFError, OSError, zlib.error):
            start = b""  # split_lines gets the same error and reports the line
        if start.startswith(UTF16_BOMS):
            raise BadInput(describe_source(path), "is UTF-16", hint="save it as UTF-8")
        if b"\0" in start:
            raise BadInput(describe_source(path), "is binary", hint="JSON Lines has one object per line")
        yield stream


@contextmanager
def open_bytes(path: str) -> Iterator[io.BufferedReader]:
    """Open a path, or stdin for `-`. Raises BadInput if the path cannot be opened."""
    if path == "-":
        yield io.BufferedReader(sys.stdin.buffer)  # type: ignore[arg-type]
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - errors of reading it are not errors of opening it
    except OSError as error:
        what = "is a folder" if Path(path).is_dir() else (error.strerror or "cannot be opened").lower()
        raise BadInput(
            path, what, hint="give a .jsonl, .csv, .tsv or .parquet file, or - for JSON Lines on stdin"
        ) from error
    with stream:
        yield stream


def describe_source(path: str) -> str:
    """Return the name of the items' source for messages: the path, or "stdin"."""
    return "stdin" if path == "-" else path


def read_objects(stream: BinaryIO) -> Iterator[NumberedRecord]:
    """Yield the objects of JSON Lines, with a BadItem for each broken line; blank lines are skipped."""
    for number, raw in enumerate(split_lines(stream), 1):
        if isinstance(raw, str):
            yield number, BadItem(raw)
        elif raw and not raw.isspace():
            try:
                yield number, parse_record(raw)
            except BadItem as error:
                yield number, error


def check_ids(records: Iterable[NumberedRecord]) -> Iterator[ItemLine | UnreadableLine]:
    """Yield the records with unique ids; a record with a repeated id becomes an UnreadableLine."""
    seen: dict[str | int, int] = {}  # id -> line
    for number, record in records:
        try:
            if isinstance(record, BadItem):
                raise record
            key = get_id(record)
        except BadItem as error:
            yield UnreadableLine(number, str(error))
            continue
        if seen.setdefault(key, number) != number:
            yield UnreadableLine(number, f"repeats the id of line {seen[key]}")
            continue
        yield ItemLine(number, record)


def split_lines(stream: BinaryIO) -> Iterator[bytes | str]:
    """Yield a stream's lines (bytes), or a message (str) for a line that is too long or cannot be read."""
    first = True
    while True:
        try:
            line = stream.readline(MAX_LINE_BYTES + 1)
            whole = len(line) <= MAX_LINE_BYTES
            # The rest of a long line is read in pieces and discarded, so that no line fills the memory.
            while not whole and line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
        except EOFError:
            yield "the gzip stream is truncated and ends here"
            return
        except (OSError, zlib.error) as error:
            yield f"cannot be read from this line on ({error})"
            return
        if whole and not line:
            return
        if first:
            line, first = line.removeprefix(UTF8_BOM), False
        yield line if whole else f"is longer than {MAX_LINE_BYTES // 2**20} MiB"


def parse_record(raw: bytes) -> Record:
    """Parse a line as one JSON object.

    Raises BadItem if the line is not one JSON object, or if the object is nested deeper than MAX_DEPTH.
    """
    try:
        record = load_json(raw)
    except orjson.JSONDecodeError as error:
        raise BadItem(explain(raw, error)) from error
    except ValueError as error:
        raise BadItem(f"is not readable: {error}") from error
    if not isinstance(record, dict):
        raise BadItem(f"is {describe_type(record)}; expected a JSON object")
    # Counting brackets is cheaper than traversing the record, and suffices for most records.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and is_deeper(record, MAX_DEPTH):
        raise BadItem(f"is nested deeper than {MAX_DEPTH} levels")
    return record


def load_json(raw: bytes) -> object:
    """Parse strict JSON, without NaN or lone surrogates. Raises ValueError for invalid JSON.

    orjson rounds integers longer than 64 bits, so lines with a long number are parsed again with json.
    """
    value = orjson.loads(raw)
    return json.loads(raw) if LONG_NUMBER in raw.translate(ZEROS) else value


def explain(raw: bytes, error: orjson.JSONDecodeError) -> str:
    """Return one clause that states why a line is not valid JSON."""
    if NOT_JSON.search(raw):
        return "contains NaN or Infinity, which are not valid JSON"
    if "depth" in error.msg:
        return "is nested too deeply"
    if "UTF-8" in error.msg:
        return "is not valid UTF-8"
    return f"is not valid JSON: {error.msg} (column {error.colno})"


def is_deeper(value: object, depth: int) -> bool:
    """Return whether lists and objects are nested deeper than `depth`."""
    # A recursive function could exceed the recursion limit on deeply nested values.
    layer: list[object] = [value]
    for _ in range(depth + 1):
        if not layer:
            return False
        layer = [child for parent in layer for child in get_children(parent)]
    return bool(layer)


def get_children(value: object) -> Iterable[object]:
    """Return the elements of a list or the values of an object; other values have none."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def get_id(record: Record) -> str | int:
    """Return a record's id. Raises BadItem if the id is missing, empty, or not a string or integer."""
    key = record.get("id")
    if key is None or key == "":
        raise BadItem("has no id")
    if type(key) not in ID_TYPES:
        raise BadItem(f"id is {describe_type(key)}; expected text or a whole number")
    found: str | int = key
    return found


def describe_type(value: object) -> str:
    """Describe the type of a JSON value for messages."""
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def get_text(record: Record, field: str) -> str:
    """Return the value of a string field. Raises BadItem if the value is not a string."""
    value = record.get(field)
    if not isinstance(value, str):
        raise BadItem(f"{field} is {describe_type(value)}; expected text")
    return value


def get_optional_text(record: Record, field: str) -> str | None:
    """Return the value of a string field, or None if null or missing. Raises BadItem for any other type."""
    return None if record.get(field) is None else get_text(record, field)


def is_number(value: object) -> bool:
    """Return whether a value is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
