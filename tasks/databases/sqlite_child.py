"""The process that runs model-written SQL on SQLite: it can only read, and it can be killed.

Started by tasks.databases.child with the standard library alone (`python -I -S`), it takes requests
on stdin and answers on stdout: frames of JSON, each behind its length. It opens one file read-only
and gives up, before the first request, the right to write files, to start processes and to grow.
"""

from __future__ import annotations

import contextlib
import json
import math
import resource
import sqlite3
import struct
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

CHUNK = 256
PROGRESS_STEPS = 20_000
HEADER = struct.Struct(">I")

# Not here: random and randomblob (no answer twice), zeroblob (size without work), the current_ family,
# load_extension, and everything that tells about the engine or the connection.
HARMLESS = """
abs acos acosh asin asinh atan atan2 atanh ceil ceiling char coalesce concat concat_ws cos cosh date
datetime degrees exp floor format glob hex ifnull iif instr julianday length like likelihood likely
ln log log10 log2 lower ltrim max min mod nullif octet_length pi pow power printf quote radians
replace round rtrim sign sin sinh soundex sqrt strftime substr substring tan tanh time timediff trim
trunc typeof unicode unixepoch unlikely upper avg count group_concat string_agg sum total row_number
rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value json
json_array json_array_length json_extract json_object json_quote json_type json_valid
json_group_array json_group_object json_each json_tree -> ->>
"""
FUNCTIONS = frozenset(HARMLESS.split())
VIRTUAL = frozenset({"json_each", "json_tree"})


class Reader:
    """The connection, its guards, and the statement under way."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.deadline = math.inf
        self.bytes: int = setup["bytes"]
        self.cursor: sqlite3.Cursor | None = None
        self.connection = sqlite3.connect(setup["uri"], uri=True, isolation_level=None)
        self.connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        for pragma in (
            "trusted_schema = OFF",
            "query_only = ON",
            "temp_store = MEMORY",
            "cell_size_check = ON",
            f"hard_heap_limit = {setup['memory'] * 3 // 4}",
        ):
            self.connection.execute(f"PRAGMA {pragma}")
        names = self.connection.execute(
            "SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')"
        )
        self.tables = {name for (name,) in names} | VIRTUAL
        # A table-valued function is built at its first use, by steps that the authorizer would refuse.
        for name in sorted(VIRTUAL):
            self.connection.execute(f"SELECT 1 FROM {name}('[]')").fetchall()  # noqa: S608 (constants)
        self._set_limits()
        self.connection.set_authorizer(self.authorize)
        self.connection.set_progress_handler(self.is_late, PROGRESS_STEPS)
        give_up_rights(setup["memory"])

    def _set_limits(self) -> None:
        for category, limit in (
            (sqlite3.SQLITE_LIMIT_LENGTH, self.bytes),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
            (sqlite3.SQLITE_LIMIT_COLUMN, 500),
            (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
            (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
            (sqlite3.SQLITE_LIMIT_VDBE_OP, 250_000),
            (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 50),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
            (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1_000),
            (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            self.connection.setlimit(category, limit)

    def authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Allow reading the user's tables and harmless functions, and nothing else."""
        if action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and (first or "").lower() in self.tables:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and second == "" and not (first or "").startswith("sqlite_"):
            # `SELECT count(*) FROM x`, where x is no table but a name that WITH or a subquery gave.
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def is_late(self) -> bool:
        """Tell SQLite to stop once the statement's time is over."""
        return time.monotonic() > self.deadline

    def answer(self, request: dict[str, Any]) -> Iterator[bytes]:
        """Run a statement, or go on with it; yield the pieces of one frame of JSON."""
        self.deadline = time.monotonic() + request["seconds"]
        limit_cpu(request["seconds"])
        if "sql" in request:
            self.close()
            self.cursor = self.connection.execute(request["sql"], request["parameters"])
        cursor = self.cursor
        if cursor is None:
            raise sqlite3.ProgrammingError("no statement is under way")
        pieces, more = self.fetch(cursor, request["rows"])
        if not more:
            self.close()
        columns = [column[0] for column in cursor.description or ()]
        yield b'{"columns":' + json.dumps(columns).encode() + b',"more":' + (b"true" if more else b"false")
        yield b',"rows":[' + b",".join(pieces) + b"]}"

    def fetch(self, cursor: sqlite3.Cursor, wanted: int) -> tuple[list[bytes], bool]:
        """Fetch up to `wanted` rows as JSON, counting bytes; tell whether there may be more."""
        pieces: list[bytes] = []
        size = 0
        while wanted > 0:
            rows = cursor.fetchmany(min(CHUNK, wanted))
            if rows:
                pieces.append(dump_rows(rows))
                size += len(pieces[-1])
                if size > self.bytes:
                    raise OverflowError(f"the result is larger than {self.bytes:,} bytes")
            if len(rows) < min(CHUNK, wanted):
                return pieces, False
            wanted -= len(rows)
        return pieces, True

    def close(self) -> None:
        """End the statement under way."""
        if self.cursor is not None:
            self.cursor.close()
            self.cursor = None


def dump_rows(rows: list[tuple[Any, ...]]) -> bytes:
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


def give_up_rights(memory: int) -> None:
    """Write no file, start no process, open no further file, leave no core, grow to `memory` bytes."""
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 8),
        (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
    ):
        # Where a platform does not know a limit, SQLite's own heap limit and the parent's clock remain.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (limit, limit))


def limit_cpu(seconds: float) -> None:
    """End the process some seconds of computing from now: it must not outlive a parent that is gone."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.suppress(OSError, ValueError):
        soft = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def name_error(error: Exception) -> tuple[str, str]:
    """Sort an error into one of the parent's four kinds, with its line."""
    text = str(error) or type(error).__name__
    if isinstance(error, OverflowError):
        return "large", text
    if isinstance(error, MemoryError) or "out of memory" in text:
        return "memory", "the statement needs more memory than it may have"
    if isinstance(error, sqlite3.DataError) or "too big" in text:
        return "large", "a value is larger than the result may be"
    if "interrupted" in text:
        return "timeout", text
    if "not authorized" in text or "prohibited" in text or "one statement" in text:
        return "refused", text
    return "failed", text


def serve(reader: Reader) -> None:
    """Answer requests until stdin ends, or memory did."""
    while header := sys.stdin.buffer.read(HEADER.size):
        request = json.loads(sys.stdin.buffer.read(HEADER.unpack(header)[0]))
        try:
            pieces = list(reader.answer(request))
        except Exception as error:  # noqa: BLE001 (whatever went wrong is the parent's to name)
            kind, text = name_error(error)
            with contextlib.suppress(Exception):
                reader.close()
            send([json.dumps({"error": kind, "text": text[:500]}).encode("utf-8", "replace")])
            if kind == "memory":
                return
        else:
            send(pieces)


def send(pieces: list[bytes]) -> None:
    """Write one frame."""
    out = sys.stdout.buffer
    out.write(HEADER.pack(sum(map(len, pieces))))
    for piece in pieces:
        out.write(piece)
    out.flush()


if __name__ == "__main__":
    try:
        reader = Reader(json.loads(sys.argv[1]))
    except (sqlite3.Error, MemoryError) as error:
        send([json.dumps({"error": "open", "text": str(error)}).encode()])
    else:
        send([b'{"ready":true}'])
        serve(reader)
