"""Throws a statement at a database, and takes the time."""

from __future__ import annotations

import time

from tasks.databases.execution import SafeDatabase
from tasks.errors import SqlError

TRIES = 3


def throw(database: SafeDatabase, sql: str) -> tuple[str, bool]:
    """Run a statement; give what came of it in a line, and whether it answered."""
    try:
        return str(database.query(sql).rows), True
    except SqlError as error:
        return str(error), False


def throw_in_time(database: SafeDatabase, sql: str, bound: float) -> tuple[tuple[str, bool], float]:
    """Run a statement; where it took longer than `bound`, again: a busy machine is not late each time.

    Returns what came of it, and the seconds it took.
    """
    for _ in range(TRIES):
        began = time.monotonic()
        outcome = throw(database, sql)
        seconds = time.monotonic() - began
        if seconds < bound:
            break
    return outcome, seconds
