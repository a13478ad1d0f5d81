"""Functions for the processes that run SQL on SQLite: connection limits, errors and requests."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tasks.databases.frames import Reader, receive, send, send_error, serve
from tasks.databases.messages import Limits
from tasks.errors import SqlRefused

PROGRESS_STEPS = 20_000
"""Number of SQLite instructions between two checks of the time limit."""
INTERRUPTED = "interrupted"
"""SQLite's message for a statement that was stopped."""
LIMITS: Mapping[int, int] = {
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
"""SQLite's limit category -> value, for every connection."""


def set_pragmas(connection: sqlite3.Connection, setup: Limits, pragmas: Iterable[str]) -> None:
    """Mark the schema as untrusted, limit the connection's heap, and run the given pragmas."""
    # The rest is for Python, so that SQLite reports an error before the process itself runs out of memory.
    heap = f"hard_heap_limit = {setup['memory'] * 3 // 4}"
    for pragma in ("trusted_schema = OFF", heap, *pragmas):
        connection.execute(f"PRAGMA {pragma}")


def set_limits(connection: sqlite3.Connection, setup: Limits, limits: Mapping[int, int]) -> None:
    """Set a connection's limits: LIMITS, `limits`, and the maximum size of a value (the result limit)."""
    for category, limit in {sqlite3.SQLITE_LIMIT_LENGTH: setup["bytes"], **LIMITS, **limits}.items():
        connection.setlimit(category, limit)


class Timed:
    """Stops a connection's statement when its time limit is reached."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.deadline = float("inf")
        connection.set_progress_handler(self.is_late, PROGRESS_STEPS)

    def start(self, seconds: float) -> None:
        """Set the deadline for the next statement to `seconds` from now."""
        self.deadline = time.monotonic() + seconds

    def check(self) -> None:
        """Raise SQLite's error if the time limit has passed.

        The check is necessary because SQLite does not call the progress handler during short statements.
        """
        if self.is_late():
            raise sqlite3.OperationalError(INTERRUPTED)

    def is_late(self) -> bool:
        """Return whether the time limit has passed; if so, SQLite stops the statement."""
        return time.monotonic() > self.deadline


def classify_error(error: Exception) -> tuple[str, str]:
    """Return an error's kind (one that the parent process knows) and message.

    SQLite's error code determines the kind if it is set, because the message may contain names from the
    database, such as a column named `interrupted`.
    """
    text = str(error) or type(error).__name__
    code = getattr(error, "sqlite_errorname", "")
    if isinstance(error, OverflowError):
        return "large", text
    if isinstance(error, MemoryError) or code == "SQLITE_NOMEM" or text == "out of memory":
        return "memory", "the statement needs more memory than it may have"
    if isinstance(error, sqlite3.DataError) or code == "SQLITE_TOOBIG":
        return "large", "a value is larger than the result may be"
    if code == "SQLITE_INTERRUPT" or text == INTERRUPTED:
        return "timeout", text
    if is_refusal(error, code, text):
        return "refused", text
    return "failed", text


def is_refusal(error: Exception, code: str, text: str) -> bool:
    """Return whether the parser, the authorizer or the driver refused a statement. `text`: the error's text.

    SQLite reports a forbidden function with a general error code, so this error is detected by its message.
    """
    return (
        isinstance(error, SqlRefused)
        or code == "SQLITE_AUTH"
        or text.startswith(("not authorized", "You can only execute one statement"))
    )


def serve_process(
    open_reader: Callable[[Any], Reader], classify: Callable[[Exception], tuple[str, str]]
) -> None:
    """Create a reader from the first message and answer requests."""
    setup = receive()
    if setup is None:
        return
    try:
        reader = open_reader(setup)
    except (sqlite3.Error, MemoryError) as error:
        send_error("open", str(error))
    else:
        send([b'{"ready":true}'])
        serve(reader, classify)
