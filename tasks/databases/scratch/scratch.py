"""Build a fresh SQLite database from a model's INSERT statements, in a process of its own, within limits."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.databases.child import ReaderProcess, ReaderProgram
from tasks.databases.scratch.scratch_create import write_create
from tasks.databases.snapshot import GRACE_S
from tasks.errors import BadInput, SqlFailed, SqlTimeout, SqlTooLarge
from tasks.files import write_beside
from tasks.settings import Settings

__all__ = ["Built", "ScratchLimits", "build_scratch", "write_create", "write_database"]

LABEL = "the scratch database"
LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, at most."""
MOST_STEPS = 10_000_000
"""Steps of SQLite's virtual machine in one statement of a script; an INSERT takes some ten for each row."""
MOST_PAGES = 1 << 16
"""Pages of 4 KiB in the database of a script."""
SCRIPTED = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_INSERT,
        # Of VALUES with several rows.
        sqlite3.SQLITE_SELECT,
        # UNIQUE makes an index, for which its table is read.
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_READ,
    }
)


class ScratchLimits(Settings):
    """The resource limits of one reply."""

    timeout_s: float = Field(default=5.0, gt=0)
    """Seconds for parsing and running."""
    memory_mb: int = Field(default=128, ge=64)
    """Maximum memory of the process, in MiB."""
    rows: int = Field(default=2_000, gt=0)
    """Maximum number of rows of all tables."""
    characters: int = Field(default=200_000, gt=0)
    """Maximum number of characters of the reply."""
    bytes: int = Field(default=10_000, gt=0)
    """Maximum number of bytes of one value."""


DEFAULT = ScratchLimits()


@dataclass(frozen=True)
class Built:
    """A database that was built."""

    script: str
    """The CREATE statements, then an INSERT for each row in canonical form, in the order in which they ran.

    Run again on an empty database of SQLite, it gives the same content."""
    rows: Mapping[str, int]
    """Rows by table, with those that have none."""


def build_scratch(create: Sequence[str], text: str, limits: ScratchLimits = DEFAULT) -> Built:
    """Run the INSERT statements of a model's reply on a fresh database; nothing else of it is run.

    create: our own CREATE TABLE statements. text: INSERT INTO <table> [(columns)] VALUES (literals), ...,
    perhaps in Markdown's fences and with comments.

    Raises SqlRefused if it holds anything else, SqlTimeout or SqlTooLarge at a limit, and SqlFailed if a row
    does not fit: each with one line that says where, and from which a model can mend it. Foreign keys are
    checked at the end, so that the order of the rows is free. BadInput if `create` does not run.
    """
    if len(text) > limits.characters:
        raise SqlTooLarge(
            f"the reply has {len(text):,} characters; at most {limits.characters:,} are allowed"
        )
    setup = {"create": list(create), "rows": limits.rows, "value": limits.bytes}
    program = ReaderProgram(LABEL, "tasks.databases.scratch.scratch_child", setup, GRACE_S)
    largest = LONGEST_CHARACTER * limits.characters
    try:
        child = ReaderProcess(program, memory=limits.memory_mb << 20, disk=0, max_bytes=largest)
    except SqlFailed as error:
        raise BadInput(LABEL, str(error), hint="its CREATE statements are ours") from None
    try:
        reply = child.ask({"sql": text}, limits.timeout_s)
    except SqlTimeout:
        raise SqlTimeout(
            f"the statements did not end within {limits.timeout_s:.3g} s; write fewer or shorter ones"
        ) from None
    finally:
        child.kill()
    inserts = [(str(table), str(sql)) for table, sql in reply["rows"]]
    script = [f"{statement.strip().rstrip(';')};\n" for statement in create]
    counts = Counter(table for table, _ in inserts)
    return Built(
        "".join(script + [f"{sql};\n" for _, sql in inserts]),
        {table: counts[table] for table in reply["columns"]},
    )


def write_database(script: str, path: Path) -> None:
    """Write the database of a script as a SQLite file; its bytes depend on the script and SQLite's version.

    The script may be anyone's, as a dataset's items are: nothing is run but CREATE TABLE and INSERT,
    without functions and recursion and within a limit of steps and size. Raises BadInput if it does not run.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(f"PRAGMA max_page_count = {MOST_PAGES}")
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(lambda: 1, MOST_STEPS)
        try:
            connection.executescript(script)
        except sqlite3.Error as error:
            raise BadInput(
                path,
                f"its script does not run: {error}",
                hint="use only CREATE TABLE and INSERT INTO ... VALUES with literals",
            ) from error
        connection.set_authorizer(None)
        content = connection.serialize()
    with write_beside(path) as draft:
        draft.write_bytes(content)


def _authorize(action: int, first: str | None, *_: str | None) -> int:
    """Allow what CREATE TABLE and INSERT need."""
    if action in SCRIPTED or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
