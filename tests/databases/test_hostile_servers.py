"""Hostile SQL on PostgreSQL and MariaDB: by the parser and the engine together, and by the engine alone."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from tasks.databases.content import DatabaseContent, read_content
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import BadInput, DatabaseGone
from tests.databases.conftest import make_library
from tests.databases.hostile_servers import MAY_ANSWER, MEMORY, STATEMENTS
from tests.databases.servers import PASSWORD, PASSWORD_ENV, Place, copy_tables, open_place
from tests.databases.throwing import throw, throw_in_time

LIMITS = QueryLimits(timeout_s=0.5, rows=1_000, bytes=1_000_000, memory_mb=128)
HONEST = "SELECT title FROM books WHERE book_id = 7"
SERVER_MIB = 256
"""How much a server's process may grow by one statement: twice the limit that its session is given."""
ALL = [(kind, name) for kind in STATEMENTS for name in STATEMENTS[kind]]


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = make_library(tmp_path_factory.mktemp("library") / "library.sqlite", odd=False)
    with pytest.MonkeyPatch.context() as patch, open_place(request.param) as opened:
        patch.setenv(PASSWORD_ENV, PASSWORD)
        copy_tables(path, opened)
        opened.run("CREATE SEQUENCE numbers")
        yield opened


@pytest.fixture(scope="module")
def database(place: Place) -> Iterator[SafeDatabase]:
    with SafeDatabase(place.entry, LIMITS, children=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def before(place: Place, database: SafeDatabase) -> tuple[DatabaseContent, list[object]]:
    return look(place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("open")
    path.chmod(0o777)
    for parent in path.parents[:3]:
        with contextlib.suppress(PermissionError):
            parent.chmod(parent.stat().st_mode | 0o011)
    return path


def look(place: Place) -> tuple[DatabaseContent, list[object]]:
    """What must not change: every row, and what the owner sees beside them."""
    owner = DatabaseEntry(name="owner", url=place.owner.url.render_as_string(hide_password=False))
    if place.kind == "postgresql":
        catalogue = place.run(
            "SELECT relname, relacl FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
            "SELECT last_value, is_called FROM numbers",
            "SELECT count(*) FROM pg_largeobject_metadata",
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
        )
    else:
        catalogue = place.run(
            f"SELECT table_name, table_type FROM information_schema.tables "
            f"WHERE table_schema = '{place.name}' ORDER BY 1",
            "SELECT next_not_cached_value FROM numbers",
            "SELECT IS_USED_LOCK('evil')",
            "SELECT @@GLOBAL.general_log",
        )
    return read_content(owner), [*map(str, catalogue)]


@pytest.mark.parametrize("kind", STATEMENTS)
def test_there_are_enough(kind: str) -> None:
    assert len(STATEMENTS[kind]) >= 60


@pytest.mark.parametrize(("place", "name"), ALL, indirect=["place"])
def test_nothing_changes_and_it_ends(
    name: str,
    place: Place,
    database: SafeDatabase,
    before: tuple[DatabaseContent, list[object]],
    folder: Path,
) -> None:
    sql = STATEMENTS[place.kind][name].replace("{folder}", str(folder))
    (outcome, answered), seconds = throw_in_time(database, sql, LIMITS.timeout_s + 1)
    assert seconds < LIMITS.timeout_s + 1
    assert not answered or name in MAY_ANSWER[place.kind]
    assert 0 < len(outcome) < 1_000
    assert "\n" not in outcome
    assert PASSWORD not in outcome
    assert database.query(HONEST).rows == [("Book 7",)]
    assert list(folder.iterdir()) == []


def test_nothing_has_changed_after_all_of_them(
    place: Place, database: SafeDatabase, before: tuple[DatabaseContent, list[object]], folder: Path
) -> None:
    for sql in STATEMENTS[place.kind].values():
        throw(database, sql.replace("{folder}", str(folder)))
    assert look(place) == before
    assert list(folder.iterdir()) == []


def test_the_engine_alone_lets_nothing_change(
    place: Place, before: tuple[DatabaseContent, list[object]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the parser takes for something else, the server still refuses: only what writes is tried."""
    monkeypatch.setattr("tasks.databases.execution.check_select", lambda *_: None)
    harmless = {
        "terminate",
        "advisory lock",
        "shared advisory lock",
        "get_lock",
        "lo_create",
        "lo_from_bytea",
    }
    with SafeDatabase(place.entry, LIMITS.model_copy(update={"timeout_s": 0.3})) as database:
        for name, sql in STATEMENTS[place.kind].items():
            if (
                name in harmless
                or name in MEMORY[place.kind]
                or name.startswith(("repeat", "lpad", "format"))
            ):
                continue
            began = time.monotonic()
            throw(database, sql.replace("{folder}", str(folder)))
            assert time.monotonic() - began < 0.3 + 1, name
    assert look(place) == before
    assert list(folder.iterdir()) == []


def test_memory_stays_small_on_both_sides(place: Place) -> None:
    for name in MEMORY[place.kind]:
        with SafeDatabase(place.entry, LIMITS, children=1) as database:
            database.query(HONEST)
            grown, ours = watch(place, database, STATEMENTS[place.kind][name])
        assert grown < SERVER_MIB, f"{name}: the server grew by {grown} MiB"
        assert ours <= LIMITS.memory_mb, f"{name}: the reader had {ours} MiB"


def watch(place: Place, database: SafeDatabase, sql: str) -> tuple[float, float]:
    """Run a statement; give by how many MiB its server's process grew, and the reader's greatest size."""
    with database._borrow() as child:
        reader = Path(f"/proc/{child.pid}/status")
    server = Path(f"/proc/{find_server_process(place)}/status")
    if not server.exists():
        pytest.skip("the server runs elsewhere")
    start, sizes, ours, done = read_size(server, "RssAnon"), [0.0], [0.0], threading.Event()

    def look_on() -> None:
        ended = False
        while not ended:
            ended = done.wait(0.005)
            with contextlib.suppress(OSError, IndexError, ValueError):
                ours.append(read_size(reader, "VmPeak"))
            with contextlib.suppress(OSError, IndexError, ValueError):
                sizes.append(read_size(server, "RssAnon"))

    watcher = threading.Thread(target=look_on)
    watcher.start()
    throw(database, sql)
    done.set()
    watcher.join()
    return max(sizes) - start, max(ours)


def read_size(status: Path, what: str) -> float:
    return int(status.read_text().split(f"{what}:")[1].split()[0]) / 1024


def find_server_process(place: Place) -> int:
    with place.admin.connect() as connection:
        if place.kind == "postgresql":
            query = text(
                "SELECT pid FROM pg_stat_activity WHERE usename = :who ORDER BY backend_start DESC LIMIT 1"
            )
            return int(connection.execute(query, {"who": place.reader}).scalar_one())
        file = connection.execute(text("SELECT @@pid_file")).scalar_one()
        return int(Path(file).read_text()) if Path(file).exists() else 0


HONEST_STATEMENTS = {
    "postgresql": """
        SELECT title FROM books WHERE title ILIKE '%7' AND NOT pages IS NULL ORDER BY 1 LIMIT 3;
        WITH t AS (SELECT editor, count(*) AS n FROM books GROUP BY 1) SELECT max(n), avg(n) FROM t;
        SELECT EXTRACT(YEAR FROM born)::int, born + INTERVAL '1 day' FROM authors LIMIT 1;
        SELECT a.full_name || ', ' || a.full_name, replace(a.full_name, ' ', '') FROM authors a LIMIT 1;
        SELECT title, row_number() OVER (PARTITION BY editor ORDER BY pages) FROM books LIMIT 2;
        SELECT CASE WHEN pages > 5 THEN 'long' ELSE 'short' END, round(price, 1) FROM books LIMIT 2;
        SELECT title FROM books WHERE editor IN (SELECT author_id FROM authors WHERE author_id < 2);
        SELECT coalesce(nullif(title, ''), 'x'), to_char(born, 'YYYY') FROM books, authors LIMIT 1 -- one
    """,
    "mariadb": """
        SELECT GROUP_CONCAT(title ORDER BY title SEPARATOR ', ') FROM books WHERE book_id < 3;
        SELECT YEAR(born), DATE_FORMAT(born, '%Y'), DATEDIFF(born, '1900-01-02') FROM authors LIMIT 1;
        SELECT IF(pages > 5, 'long', 'short'), IFNULL(price, 0), ROUND(price, 1) FROM books LIMIT 2;
        SELECT SUBSTRING_INDEX(title, ' ', 1), LOWER(title), CONCAT(title, '!') FROM books LIMIT 1;
        WITH t AS (SELECT editor, COUNT(*) AS n FROM books GROUP BY editor) SELECT MAX(n) FROM t;
        SELECT title FROM books WHERE title LIKE '%7' UNION SELECT title FROM books WHERE book_id = 1;
        WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 9) SELECT MAX(i) FROM r
    """,
}


def test_honest_statements_run(place: Place, database: SafeDatabase) -> None:
    for sql in HONEST_STATEMENTS[place.kind].split(";"):
        assert database.query(sql.strip()).rows, sql


def test_an_account_that_may_write_is_refused(place: Place) -> None:
    owner = DatabaseEntry(name="owner", url=place.owner.url.render_as_string(hide_password=False))
    with (
        SafeDatabase(owner) as database,
        pytest.raises(BadInput, match=r"databases\.owner: its account .* only read"),
    ):
        database.query("SELECT 1")
    place.run(f"GRANT UPDATE (title) ON books TO {place.reader}")
    try:
        with (
            SafeDatabase(place.entry) as database,
            pytest.raises(BadInput, match=r"may (write to books|UPDATE)"),
        ):
            database.query("SELECT 1")
    finally:
        place.run(f"REVOKE UPDATE (title) ON books FROM {place.reader}")


def test_a_kicked_reader_says_so_and_the_next_query_runs(place: Place) -> None:
    with SafeDatabase(place.entry, children=1) as database:
        database.query(HONEST)
        assert place.kick() >= 1
        with pytest.raises(
            DatabaseGone, match=r"databases\.shop: the server does not answer: .*; run it again"
        ):
            database.query(HONEST)
        assert database.query(HONEST).rows == [("Book 7",)]


def test_a_stream_left_halfway_ends_on_the_server(place: Place) -> None:
    with SafeDatabase(place.entry, QueryLimits(timeout_s=30), children=1) as database:
        stream = database.stream("SELECT a.title FROM books a, books b, books c", batch=10)
        assert len(next(stream)) == 10
        stream.close()  # type: ignore[attr-defined]
        assert database.query(HONEST).rows == [("Book 7",)]
