"""Run hostile statements on databases; `{folder}` in a statement is a folder that any account may write to.

A statement is a text, or a list of parts: texts, or pairs of a text and its number of repetitions.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tasks.databases.content import read_content
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import SqlError, SqlFailed, SqlRefused
from tests.databases.conftest import make_library
from tests.databases.servers import PASSWORD, PASSWORD_ENV, Place, copy_tables, open_place
from tests.hostile.corpus import read_inputs
from tests.hostile.subject import Outcome, Subject

Statement = str | list[str | list[object]]
LIMITS = QueryLimits(timeout_s=0.5, rows=1_000, bytes=1_000_000, memory_mb=128)
HONEST = "SELECT title FROM books WHERE book_id = 7"
TRIES = 3
PATIENCE_S = 10.0
STATE = {
    "postgresql": (
        "SELECT c.relname, c.relkind, c.relacl, c.relfilenode FROM pg_class c ORDER BY c.oid",
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT typname FROM pg_type ORDER BY oid",
        "SELECT last_value, is_called FROM numbers",
        "SELECT oid FROM pg_largeobject_metadata ORDER BY 1",
        "SELECT count(*) FROM pg_largeobject",
        "SELECT objid, mode FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM "
        "pg_database WHERE datname = current_database())",
        "SELECT * FROM pg_prepared_xacts WHERE database = current_database()",
        "SELECT s.setconfig FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase "
        "WHERE d.datname = current_database()",
        "SELECT rolname, rolsuper, rolconfig FROM pg_roles WHERE rolname = '{reader}'",
    ),
    "mariadb": (
        "SELECT table_name, table_type, create_time FROM information_schema.tables "
        "WHERE table_schema = '{name}' ORDER BY 1",
        "SELECT table_name, column_name, column_type FROM information_schema.columns "
        "WHERE table_schema = '{name}' ORDER BY 1, 2",
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{name}' ORDER BY 1",
        "SELECT event_name FROM information_schema.events WHERE event_schema = '{name}'",
        "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = '{name}'",
        "SELECT next_not_cached_value FROM numbers",
        "SELECT IS_USED_LOCK('evil')",
        "SELECT @@GLOBAL.general_log, @@GLOBAL.sql_mode, @@GLOBAL.max_statement_time, @@GLOBAL.read_only",
        "SHOW GRANTS FOR {reader}",
    ),
}
"""Queries for a server's state besides rows: catalogue, sequences, large objects, locks, settings, rights."""
RUNNING = {
    "postgresql": "SELECT query FROM pg_stat_activity WHERE usename = '{reader}' AND state <> 'idle'",
    "mariadb": "SELECT info FROM information_schema.processlist "
    "WHERE user = '{reader}' AND command <> 'Sleep'",
}
"""Queries for the reader's running statements; a server may need time to end a cancelled statement."""


class Database:
    """Runs statements on one database, each followed by a valid query."""

    limit_s = LIMITS.timeout_s

    def __init__(
        self, database: SafeDatabase, folder: Path, read_state: Callable[[], dict[str, str]]
    ) -> None:
        self.database, self.folder, self.read_state = database, folder, read_state

    def throw(self, value: Statement) -> Outcome:
        sql = write_statement(value).replace("{folder}", str(self.folder))
        for attempt in range(TRIES):
            began = time.monotonic()
            outcome = run_statement(self.database, sql)
            seconds = time.monotonic() - began
            # A busy machine does not exceed the limit each time.
            if seconds < LIMITS.timeout_s + 1:
                break
            assert attempt < TRIES - 1, f"it took {seconds:.1f} s"
        assert self.database.query(HONEST).rows == [("Book 7",)]
        assert PASSWORD not in outcome.line
        return outcome

    def look(self) -> object:
        return self.read_state() | {"files": str(sorted(path.name for path in self.folder.iterdir()))}


def read_statements(kind: str, *, made: bool = True) -> dict[str, str]:
    """Return name -> statement, for the statements of a kind. made: include generated statements."""
    inputs = [hostile for hostile in read_inputs(kind) if made or hostile.seed is None]
    return {hostile.name: write_statement(hostile.input) for hostile in inputs}


def write_statement(value: Statement) -> str:
    """Return the text of a statement."""
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else str(part[0]) * int(str(part[1])) for part in value)


def run_statement(database: SafeDatabase, sql: str) -> Outcome:
    """Run a statement. Outcome `ended`: the statement was stopped at its limit of time, size or memory."""
    try:
        return Outcome("answered", f"{len(database.query(sql).rows)} rows")
    except SqlRefused as error:
        return Outcome("refused", str(error))
    except SqlFailed as error:
        return Outcome("failed", str(error))
    except SqlError as error:
        return Outcome("ended", str(error))


@contextmanager
def open_file(folder: Path) -> Iterator[Subject]:
    """Open the library as a file, with an adjacent folder that must remain empty."""
    path = make_library(folder / "library.sqlite")

    def read_state() -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest(), "around": str([*folder.iterdir()])}

    with SafeDatabase(path, LIMITS, children=1) as database:
        yield Database(database, _make_open(folder / "open"), read_state)


@contextmanager
def open_server(kind: str, folder: Path) -> Iterator[Subject]:
    """Open the library on a server, with a read-only account."""
    path = make_library(folder / "library.sqlite", odd=False)
    with patch.dict(os.environ, {PASSWORD_ENV: PASSWORD}), open_place(kind) as place:
        copy_tables(path, place)
        place.run("CREATE SEQUENCE numbers")
        with SafeDatabase(place.entry, LIMITS, children=1) as database:
            yield Database(database, _make_open(folder / "open"), lambda: read_server(place))


def read_server(place: Place) -> dict[str, str]:
    """Return hashes of a server's content as seen by the owner: rows, state, and the reader's statements."""
    running = wait_for_statements(place)
    owner = DatabaseEntry(name="owner", url=place.owner.url.render_as_string(hide_password=False))
    state = {"rows": str(read_content(owner)), "running": str(running)}
    for query in STATE[place.kind]:
        state[query] = str(place.run(query.format(name=place.name, reader=place.reader)))
    return {what: hashlib.sha256(text.encode()).hexdigest() for what, text in state.items()}


def wait_for_statements(place: Place) -> list[object]:
    """Wait for the reader's statements to end; return the statements that are still running."""
    until = time.monotonic() + PATIENCE_S
    while True:
        (running,) = place.run(RUNNING[place.kind].format(reader=place.reader))
        if not running or time.monotonic() > until:
            return [*running]
        time.sleep(0.1)


def _make_open(folder: Path) -> Path:
    folder.mkdir()
    folder.chmod(0o777)
    for parent in [*folder.parents][:3]:
        if parent.stat().st_uid == os.getuid():
            parent.chmod(stat.S_IMODE(parent.stat().st_mode) | 0o011)
    return folder
