"""What every reading process shares: frames of JSON on its pipes, and the rights it gives up.

Standard library alone: the process that reads SQLite sees no installed package.
"""

from __future__ import annotations

import contextlib
import json
import math
import resource
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

HEADER = struct.Struct(">I")
CHUNK = 256


class Reader(Protocol):
    """An engine behind the pipes."""

    def answer(self, request: dict[str, Any]) -> Iterator[bytes]:
        """Run a statement, or go on with it; yield the pieces of one frame of JSON."""

    def close(self) -> None:
        """End the statement under way."""


def receive() -> dict[str, Any] | None:
    """Read one frame from stdin; None where it has ended."""
    header = sys.stdin.buffer.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    frame: dict[str, Any] = json.loads(sys.stdin.buffer.read(HEADER.unpack(header)[0]))
    return frame


def send(pieces: list[bytes]) -> None:
    """Write one frame."""
    out = sys.stdout.buffer
    out.write(HEADER.pack(sum(map(len, pieces))))
    for piece in pieces:
        out.write(piece)
    out.flush()


def send_error(kind: str, text: str) -> None:
    """Write a frame that says what went wrong, and of which of the parent's kinds it is."""
    send([json.dumps({"error": kind, "text": text[:500]}).encode("utf-8", "replace")])


def serve(reader: Reader, name_error: Callable[[Exception], tuple[str, str]]) -> None:
    """Answer requests until stdin ends, or memory or the server did."""
    while (request := receive()) is not None:
        try:
            pieces = list(reader.answer(request))
        except Exception as error:  # noqa: BLE001 (whatever went wrong is the parent's to name)
            kind, text = name_error(error)
            with contextlib.suppress(Exception):
                reader.close()
            send_error(kind, text)
            if kind in {"memory", "gone"}:
                return
        else:
            send(pieces)


def fetch(
    fetchmany: Callable[[int], list[Any]], wanted: int, most: int, chunk: int = CHUNK
) -> tuple[list[bytes], bool]:
    """Fetch up to `wanted` rows as JSON, at most `most` bytes; tell whether there may be more.

    Raises OverflowError past the bytes.
    """
    pieces: list[bytes] = []
    size = 0
    while wanted > 0:
        asked = min(chunk, wanted)
        rows = fetchmany(asked)
        if rows:
            pieces.append(dump_rows(rows))
            size += len(pieces[-1])
            if size > most:
                raise OverflowError(f"the result is larger than {most:,} bytes")
        if len(rows) < asked:
            return pieces, False
        wanted -= len(rows)
    return pieces, True


def frame_rows(columns: list[str], pieces: list[bytes], *, more: bool) -> Iterator[bytes]:
    """Put a result's frame together out of rows that are JSON already."""
    yield b'{"columns":' + json.dumps(columns).encode() + b',"more":' + (b"true" if more else b"false")
    yield b',"rows":[' + b",".join(pieces) + b"]}"


def dump_rows(rows: list[Any]) -> bytes:
    """Write rows as JSON without their outer brackets."""
    try:
        text = json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        safe = [[make_safe(cell) for cell in row] for row in rows]
        text = json.dumps(safe, ensure_ascii=False, separators=(",", ":"))
    return text[1:-1].encode("utf-8", "replace")


def make_safe(cell: Any) -> Any:
    """Turn what JSON cannot hold into text: a blob into hex digits, an infinite number into its name."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    return cell


def give_up_rights(memory: int, *, disk: int = 0) -> None:
    """Start no process, leave no core, grow to `memory` bytes and no file past `disk` bytes."""
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, disk),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 16 if disk else 8),
        (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
    ):
        # Where a platform does not know a limit, the engine's own and the parent's clock remain.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (limit, limit))


def limit_cpu(seconds: float) -> None:
    """End the process some seconds of computing from now: it must not outlive a parent that is gone."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.suppress(OSError, ValueError):
        soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
