"""Build a new SQLite database from a model's INSERT statements, in a separate process, within limits."""

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
"""Maximum number of bytes of one character in UTF-8."""
MOST_STEPS = 10_000_000
"""Maximum number of SQLite virtual machine steps per statement; an INSERT requires about ten steps per
row."""
MOST_PAGES = 1 << 16
"""Maximum number of 4 KiB pages in a script's database."""
SCRIPTED = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_INSERT,
        # VALUES with several rows is a SELECT.
        sqlite3.SQLITE_SELECT,
        # UNIQUE creates an index, for which SQLite reads the table.
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_READ,
    }
)
"""SQLite authorizer actions that CREATE TABLE and INSERT require."""


class ScratchLimits(Settings):
    """The resource limits of one reply."""

    timeout_s: float = Field(default=5.0, gt=0)
    """Time limit in seconds for parsing and running a reply."""
    memory_mb: int = Field(default=128, ge=64)
    """Maximum memory of the process, in MiB."""
    rows: int = Field(default=2_000, gt=0)
    """Maximum total number of rows in all tables."""
    characters: int = Field(default=200_000, gt=0)
    """Maximum number of characters in the reply."""
    bytes: int = Field(default=10_000, gt=0)
    """Maximum number of bytes of one value."""


DEFAULT = ScratchLimits()


@dataclass(frozen=True)
class Built:
    """The result of building a database from a reply."""

    script: str
    """The CREATE statements, then one INSERT per row in canonical form, in the order of execution.

    Running the script on an empty SQLite database gives the same content.
    """
    rows: Mapping[str, int]
    """Number of rows per table, including empty tables."""


def build_scratch(create: Sequence[str], text: str, limits: ScratchLimits = DEFAULT) -> Built:
    """Run the INSERT statements of a model's reply, and no other statements, on a new database.

    `create`: trusted CREATE TABLE statements. `text`: INSERT INTO <table> [(columns)] VALUES (literals), ...,
    possibly with Markdown fences and comments.

    Raises SqlRefused if the reply contains anything else, SqlTimeout or SqlTooLarge if the reply exceeds a
    limit, and SqlFailed if a row violates the schema. Each error is one line with the position, so that a
    model can correct the reply. Foreign keys are checked at the end, so the rows may be in any order. Raises
    BadInput if `create` fails.
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
        raise BadInput(
            LABEL, str(error), hint="Benchloom generated the CREATE statements; report this as a bug"
        ) from None
    try:
        reply = child.ask({"sql": text}, limits.timeout_s)
    except SqlTimeout:
        raise SqlTimeout(
            f"the statements did not finish within {limits.timeout_s:.3g} s; write fewer or shorter ones"
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
    """Run a script and write the resulting database to a SQLite file.

    The bytes of the file depend only on the script and SQLite's version. The script is not trusted: it may be
    part of a published dataset, for example. Only CREATE TABLE and INSERT are run, without functions or
    recursion, within limits on steps and size. Raises BadInput if the script fails.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        # In the script, a row may precede the rows that it refers to; `build_scratch` checks keys at the end.
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(f"PRAGMA max_page_count = {MOST_PAGES}")
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(lambda: 1, MOST_STEPS)
        try:
            connection.executescript(script)
        except sqlite3.Error as error:
            raise BadInput(
                path,
                f"the script fails: {error}",
                hint="use only CREATE TABLE and INSERT INTO ... VALUES with literals",
            ) from error
        # `serialize` runs a PRAGMA, which the authorizer would refuse.
        connection.set_authorizer(None)
        content = connection.serialize()
    with write_beside(path) as draft:
        draft.write_bytes(content)


def _authorize(action: int, first: str | None, *_: str | None) -> int:
    """Allow the actions that CREATE TABLE and INSERT require; deny all other actions."""
    if action in SCRIPTED or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
