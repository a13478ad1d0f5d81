"""Detect SQLite statements that read the clock, the time zone or random numbers. Standard library only.

The text of a statement is not sufficient: `date('no' || 'w')` reads the clock, and so does `date(note)` if a
cell contains `now`. SQLite detects both calls, because it refuses to compute a generated column from an
expression that is not deterministic.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

DATES = ("date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff")
"""Functions that read the clock for some arguments."""
NEVER_THE_SAME = (
    "current_date", "current_time", "current_timestamp", "random", "randomblob", "changes", "total_changes",
    "last_insert_rowid", "sqlite_version", "sqlite_source_id",
)  # fmt: skip
"""Functions whose result depends on the time, the session, random numbers or SQLite's version."""
SUSPECT = re.compile("|".join((*DATES, *NEVER_THE_SAME)), re.IGNORECASE)
"""Matches every text of SQL that can read the clock, the session, random numbers or SQLite's version."""
IMPURE = "non-deterministic use of"
"""Part of SQLite's error message for a function that is not deterministic."""
MAX_ARGUMENTS = 50
KEPT = 65_536
"""Maximum number of cached function results.

The cache saves time, because a column often contains the same date many times.
"""


class ClockGuard:
    """Makes a connection's functions fail if they read the clock, the session or random numbers."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.touched = ""
        """The last refused function; empty if no function was refused since the last reset."""
        self._own = sqlite3.connect(":memory:", isolation_level=None)
        self._places: dict[tuple[str, int], str] = {}
        compute = lru_cache(maxsize=KEPT, typed=True)(self._compute)
        available = {name for (name,) in self._own.execute("SELECT name FROM pragma_function_list")}
        for name in (*DATES, *NEVER_THE_SAME):
            # Older releases of SQLite lack some of these functions, such as `timediff`.
            if name in available:
                call: Callable[..., Any] = partial(compute if name in DATES else self._refuse, name)
                # Declared deterministic, because an index of the schema may use the function.
                connection.create_function(name, -1, call, deterministic=True)

    def _refuse(self, name: str, *_: object) -> object:
        self.touched = name
        raise ValueError(name)

    def _compute(self, name: str, *arguments: object) -> object:
        try:
            (row,) = self._own.execute(self._prepare(name, len(arguments)), arguments).fetchall()
        except sqlite3.Error as error:
            if IMPURE in str(error):
                self._refuse(name)
            raise
        return row[0]

    def _prepare(self, name: str, count: int) -> str:
        """Return a statement that calls a function with `count` arguments in a generated column."""
        if (name, count) not in self._places:
            if count > MAX_ARGUMENTS:
                raise ValueError("too many arguments")
            columns = [f"a{number}" for number in range(count)]
            place = f"{name}_{count}"
            result = f"result AS ({name}({', '.join(columns)})) STORED"
            self._own.execute(
                f"CREATE TABLE {place} ({', '.join(('k INTEGER PRIMARY KEY', *columns, result))})"
            )
            names, marks = ", ".join(("k", *columns)), ", ".join(("1", *"?" * count))
            self._places[name, count] = f"REPLACE INTO {place} ({names}) VALUES ({marks}) RETURNING result"  # noqa: S608 - our own names
        return self._places[name, count]


def is_suspect(connection: sqlite3.Connection) -> bool:
    """Return whether a view or a generated column of the database matches `SUSPECT`."""
    # The definition of a generated column contains `AS (expression)`.
    found = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'view' OR sql LIKE '% AS %(%'")
    return any(SUSPECT.search(str(sql)) for (sql,) in found)
