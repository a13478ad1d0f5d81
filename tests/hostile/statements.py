"""Databases that hostile statements are thrown at; `{folder}` in one is a folder that anybody may write to.

A statement is text, or a list of parts: text, or text and how often it is repeated.
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
"""What a server holds beside rows: its catalogue, sequences, large objects, locks, settings and rights."""
RUNNING = {
    "postgresql": "SELECT query FROM pg_stat_activity WHERE usename = '{reader}' AND state <> 'idle'",
    "mariadb": "SELECT info FROM information_schema.processlist "
    "WHERE user = '{reader}' AND command <> 'Sleep'",
}
"""What a server still does for the reader: it may take a moment to end a statement that was cancelled."""


class Database:
    """Runs statements on one database, and asks it an honest question after each."""

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
            # A busy machine is not late each time.
            if seconds < LIMITS.timeout_s + 1:
                break
            assert attempt < TRIES - 1, f"it took {seconds:.1f} s"
        assert self.database.query(HONEST).rows == [("Book 7",)]
        assert PASSWORD not in outcome.line
        return outcome

    def look(self) -> object:
        return self.read_state() | {"files": str(sorted(path.name for path in self.folder.iterdir()))}


def read_statements(kind: str, *, made: bool = True) -> dict[str, str]:
    """Read the statements of a kind by their names; made: those of the generator, too."""
    inputs = [hostile for hostile in read_inputs(kind) if made or hostile.seed is None]
    return {hostile.name: write_statement(hostile.input) for hostile in inputs}


def write_statement(value: Statement) -> str:
    """Write a statement out."""
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else str(part[0]) * int(str(part[1])) for part in value)


def run_statement(database: SafeDatabase, sql: str) -> Outcome:
    """Run a statement. `ended`: it was begun, and stopped at its time, size or memory."""
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
    """Open the library as a file, with a folder beside it that must stay empty."""
    path = make_library(folder / "library.sqlite")

    def read_state() -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest(), "around": str([*folder.iterdir()])}

    with SafeDatabase(path, LIMITS, children=1) as database:
        yield Database(database, _make_open(folder / "open"), read_state)


@contextmanager
def open_server(kind: str, folder: Path) -> Iterator[Subject]:
    """Open the library on a server, by an account that only reads it."""
    path = make_library(folder / "library.sqlite", odd=False)
    with patch.dict(os.environ, {PASSWORD_ENV: PASSWORD}), open_place(kind) as place:
        copy_tables(path, place)
        place.run("CREATE SEQUENCE numbers")
        with SafeDatabase(place.entry, LIMITS, children=1) as database:
            yield Database(database, _make_open(folder / "open"), lambda: read_server(place))


def read_server(place: Place) -> dict[str, str]:
    """Hash what the owner sees of a server: every row, its state, and what it does for the reader."""
    running = wait_for_statements(place)
    owner = DatabaseEntry(name="owner", url=place.owner.url.render_as_string(hide_password=False))
    state = {"rows": str(read_content(owner)), "running": str(running)}
    for query in STATE[place.kind]:
        state[query] = str(place.run(query.format(name=place.name, reader=place.reader)))
    return {what: hashlib.sha256(text.encode()).hexdigest() for what, text in state.items()}


def wait_for_statements(place: Place) -> list[object]:
    """Give what a server still runs for the reader after it had time to end it."""
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
