"""Tests of hostile SQL on PostgreSQL and MariaDB: without the parser, and memory. The rest: tests/hostile."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import BadInput, DatabaseGone, SqlError, SqlTooLarge
from tests.databases.conftest import make_library
from tests.databases.servers import PASSWORD, PASSWORD_ENV, Place, copy_tables, open_place
from tests.databases.throwing import skip_the_parser, throw
from tests.hostile.statements import HONEST, LIMITS, Database, read_server, read_statements

SERVER_MIB = 256
"""Maximum growth of a server process by one statement: twice the memory limit of its session."""
THROWN, SEED = 40, 20
HELD_BY_THE_PARSER = (
    "lock", "LOCK", "lo_", "terminate", "cancel", "repeat", "REPEAT", "lpad", "LPAD", "format", "SPACE",
    "(WITH", "a14", "a16", "sleep", "SLEEP", "_agg", "|| t", "CONCAT(t", "AGG",
)  # fmt: skip
"""Words of statements that only the parser prevents, or whose effect ends with the session."""
MEMORY = {
    "postgresql": [
        "cross join sort", "cross join distinct", "doubling text", "nested doubling", "nested sums",
        "named doubling", "growing replace", "string_agg", "array_agg", "repeat length", "cast as wide text",
    ],
    "mariadb": [
        "cross join sort", "cross join distinct", "group_concat", "doubling text", "nested doubling",
        "growing replace", "endless rows", "json_arrayagg",
    ],
}  # fmt: skip


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = make_library(tmp_path_factory.mktemp("library") / "library.sqlite", odd=False)
    with pytest.MonkeyPatch.context() as patch, open_place(request.param) as opened:
        patch.setenv(PASSWORD_ENV, PASSWORD)
        copy_tables(path, opened)
        opened.run("CREATE SEQUENCE numbers")
        if opened.kind == "postgresql":
            opened.run("CREATE TYPE address AS (city text, name text, text text)")
            opened.run("CREATE TABLE homes (home address)", "INSERT INTO homes VALUES (('a', 'b', 'c'))")
            opened.grant()
        yield opened


@pytest.fixture(scope="module")
def database(place: Place) -> Iterator[SafeDatabase]:
    with SafeDatabase(place.entry, LIMITS, children=1) as opened:
        yield opened


def test_the_engine_alone_lets_nothing_change(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the server refuses writing statements that the parser would not recognise."""
    skip_the_parser(monkeypatch)
    (folder := tmp_path / "open").mkdir(mode=0o777)
    statements = read_statements(f"statements_{place.kind}", made=False)
    with SafeDatabase(place.entry, LIMITS) as database:
        subject = Database(database, folder, lambda: read_server(place))
        before = subject.look()
        for name in random.Random(SEED).sample(sorted(statements), THROWN):
            if not any(word in statements[name] for word in HELD_BY_THE_PARSER):
                subject.throw(statements[name])
        assert subject.look() == before


def test_memory_stays_small_on_both_sides(place: Place) -> None:
    statements = read_statements(f"statements_{place.kind}")
    for name in MEMORY[place.kind]:
        with SafeDatabase(place.entry, LIMITS, children=1) as database:
            database.query(HONEST)
            grown, ours = watch(place, database, statements[name])
        assert grown < SERVER_MIB, f"{name}: the server grew by {grown} MiB"
        assert ours <= LIMITS.memory_mb, f"{name}: the reader had {ours} MiB"


def watch(place: Place, database: SafeDatabase, sql: str) -> tuple[float, float]:
    """Run a statement; return the growth of its server process and the reader's peak memory, in MiB."""
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
        SELECT coalesce(nullif(title, ''), 'x'), to_char(born, 'YYYY') FROM books, authors LIMIT 1 -- one;
        SELECT x.name, x.date FROM (SELECT title AS name, 1 AS date FROM books) x WHERE x.name <> '' LIMIT 1;
        SELECT s.rank, count(*) FROM (SELECT rank() OVER () AS rank FROM books) s GROUP BY s.rank;
        WITH t AS (SELECT count(*) AS count FROM books) SELECT t.count FROM t;
        SELECT (h.home).city, (h.home).name, (h.home).text FROM homes h;
        SELECT (home).* FROM homes;
        SELECT public.books.title, b.* FROM public.books, books b LIMIT 1;
        WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x FROM b) SELECT x FROM a
    """,
    "mariadb": """
        SELECT GROUP_CONCAT(title ORDER BY title SEPARATOR ', ') FROM books WHERE book_id < 3;
        SELECT YEAR(born), DATE_FORMAT(born, '%Y'), DATEDIFF(born, '1900-01-02') FROM authors LIMIT 1;
        SELECT IF(pages > 5, 'long', 'short'), IFNULL(price, 0), ROUND(price, 1) FROM books LIMIT 2;
        SELECT SUBSTRING_INDEX(title, ' ', 1), LOWER(title), CONCAT(title, '!') FROM books LIMIT 1;
        WITH t AS (SELECT editor, COUNT(*) AS n FROM books GROUP BY editor) SELECT MAX(n) FROM t;
        SELECT title FROM books WHERE title LIKE '%7' UNION SELECT title FROM books WHERE book_id = 1;
        WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 9) SELECT MAX(i) FROM r;
        WITH a AS (SELECT title FROM books), b AS (SELECT * FROM a) SELECT * FROM b JOIN a LIMIT 1
    """,
}


def test_honest_statements_run(place: Place, database: SafeDatabase) -> None:
    for sql in HONEST_STATEMENTS[place.kind].split(";"):
        assert database.query(sql.strip()).rows, sql


def test_an_account_that_may_write_is_refused(place: Place) -> None:
    owner = DatabaseEntry(name="owner", url=place.owner.url.render_as_string(hide_password=False))
    with (
        SafeDatabase(owner) as database,
        pytest.raises(BadInput, match=r"databases\.owner: its account .* read-only"),
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
            DatabaseGone, match=r"databases\.shop: the server does not respond: .*; run the command again"
        ):
            database.query(HONEST)
        assert database.query(HONEST).rows == [("Book 7",)]


def test_a_stream_left_halfway_ends_on_the_server(place: Place) -> None:
    with SafeDatabase(place.entry, QueryLimits(timeout_s=30), children=1) as database:
        stream = database.stream("SELECT a.title FROM books a, books b, books c", batch=10)
        assert len(next(stream)) == 10
        stream.close()  # type: ignore[attr-defined]
        assert database.query(HONEST).rows == [("Book 7",)]


WIDE = {"postgresql": "title::char(10485760)", "mariadb": "REPEAT(title, 1000000)"}


@pytest.mark.parametrize("memory_mb", [64, 256])
@pytest.mark.parametrize("columns", [3, 20])
def test_the_failure_of_a_statement_does_not_touch_the_next(
    place: Place, memory_mb: int, columns: int
) -> None:
    wide = f"SELECT {', '.join([WIDE[place.kind]] * columns)} FROM books LIMIT 1"
    limits = QueryLimits(memory_mb=memory_mb, timeout_s=5)
    with SafeDatabase(place.entry, limits, children=1) as database:
        for _ in range(2):
            with contextlib.suppress(SqlError):
                database.query(wide)
            assert database.query("SELECT count(*) FROM books").rows


def test_a_row_that_the_reader_cannot_hold_is_too_large(place: Place) -> None:
    if place.kind == "mariadb":
        pytest.skip("the server refuses rows of this size before they are sent")
    with (
        SafeDatabase(place.entry, QueryLimits(memory_mb=64), children=1) as database,
        pytest.raises(SqlTooLarge, match="needs more memory than it may have"),
    ):
        database.query(f"SELECT {', '.join([WIDE[place.kind]] * 3)} FROM books LIMIT 1")
