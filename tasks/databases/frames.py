"""Functions for all reader processes: exchange JSON messages over stdin and stdout, and drop privileges.

This module imports no installed packages, because the process that scores SQL on SQLite cannot import them.
"""

from __future__ import annotations

import contextlib
import json
import math
import resource
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

from tasks.databases.messages import ReaderRequest
from tasks.lines import clean

HEADER = struct.Struct(">I")
"""The header of a message: its length in bytes."""
CHUNK = 256
"""Number of rows per fetch. A small number detects oversized results early."""


class Reader(Protocol):
    """Runs the statement in each request."""

    def answer(self, request: ReaderRequest) -> Iterator[bytes]:
        """Start or continue a statement; yield the parts of one JSON message."""

    def close(self) -> None:
        """End the current statement."""


def receive() -> object:
    """Read one message from stdin; return None when stdin ends."""
    header = sys.stdin.buffer.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    frame: object = json.loads(sys.stdin.buffer.read(HEADER.unpack(header)[0]))
    return frame


def send(pieces: list[bytes]) -> None:
    """Write one message to stdout: a header, then all pieces."""
    out = sys.stdout.buffer
    out.write(HEADER.pack(sum(map(len, pieces))))
    for piece in pieces:
        out.write(piece)
    out.flush()


def send_error(kind: str, text: str, *, broken: bool = False) -> None:
    """Write an error message to stdout.

    `kind`: an error kind that the parent process knows. `text`: the error, which is sent as one line.
    `broken`: no further statement can run in this process.
    """
    send(
        [json.dumps({"error": kind, "text": clean(text[:500]), "broken": broken}).encode("utf-8", "replace")]
    )


def serve(reader: Reader, classify_error: Callable[[Exception], tuple[str, str]]) -> None:
    """Answer requests until stdin ends, memory is exhausted, or the server is gone."""
    while (request := receive()) is not None:
        try:
            pieces = list(reader.answer(cast("ReaderRequest", request)))
        except Exception as error:  # noqa: BLE001 (every error is reported to the parent)
            kind, text = classify_error(error)
            broken = kind in {"memory", "gone"}
            try:
                reader.close()
            except Exception:  # noqa: BLE001 (a reader that cannot be closed must not be used again)
                broken = True
            send_error(kind, text, broken=broken)
            if broken:
                return
        else:
            send(pieces)


def fetch(
    fetchmany: Callable[[int], Sequence[Sequence[object]]], wanted: int, max_bytes: int, chunk: int = CHUNK
) -> tuple[list[bytes], bool]:
    """Fetch up to `wanted` rows as JSON; return the rows and whether there may be more rows.

    Raises OverflowError if the rows are larger than `max_bytes` bytes.
    """
    pieces: list[bytes] = []
    size = 0
    while wanted > 0:
        asked = min(chunk, wanted)
        rows = fetchmany(asked)
        if rows:
            pieces.append(dump_rows(rows))
            size += len(pieces[-1])
            if size > max_bytes:
                raise OverflowError(f"the result is larger than {max_bytes:,} bytes")
        if len(rows) < asked:
            return pieces, False
        wanted -= len(rows)
    return pieces, True


def frame_rows(
    columns: list[str], pieces: list[bytes], *, more: bool, types: Sequence[str] = ()
) -> Iterator[bytes]:
    """Yield the parts of a result message. `pieces`: rows from `dump_rows`."""
    yield b'{"columns":' + json.dumps(columns).encode() + b',"more":' + (b"true" if more else b"false")
    yield b',"types":' + json.dumps(types).encode()
    yield b',"rows":[' + b",".join(pieces) + b"]}"


def dump_rows(rows: Sequence[Sequence[object]]) -> bytes:
    """Encode rows as JSON without the outer brackets."""
    try:
        text = json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        safe = [[make_safe(cell) for cell in row] for row in rows]
        text = json.dumps(safe, ensure_ascii=False, separators=(",", ":"))
    return text[1:-1].encode("utf-8", "replace")


def make_safe(cell: object) -> object:
    """Convert a value that JSON cannot represent: a blob to hex digits, an infinite number to text."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    return cell


def drop_privileges(memory: int, *, disk: int = 0) -> None:
    """Forbid child processes and core dumps, and limit memory and file sizes.

    `memory`: maximum address space in bytes. `disk`: maximum size of a file in bytes; 0 forbids writing
    files.
    """
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, disk),
        (resource.RLIMIT_CORE, 0),
        # Sorts on disk open temporary files.
        (resource.RLIMIT_NOFILE, 16 if disk else 8),
        # Some platforms have no RLIMIT_NPROC; the limit of core dumps is then set twice.
        (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
    ):
        # If a platform does not support a limit, the engine's limits and the parent's timeout still apply.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (limit, limit))
