from __future__ import annotations

import os
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.databases.checking import check_select
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import BadInput, SqlFailed, SqlRefused, SqlTimeout, SqlTooLarge
from tests.databases.throwing import skip_the_parser

SLOW = "SELECT count(*) FROM books a, books b, books c"


def test_a_query_gives_columns_and_rows(library: Path) -> None:
    with SafeDatabase(library) as database:
        result = database.query("SELECT title, pages FROM books WHERE book_id < ? ORDER BY book_id", (2,))
    assert result.columns == ("title", "pages")
    assert result.rows == [("Book 0", 0), ("Book 1", 1)]


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT cover FROM books LIMIT 1", ("00ff",)),
        ("SELECT 1e999, -1e999, NULL, 1.5", ("inf", "-inf", None, 1.5)),
        ("SELECT CAST(x'ff41' AS TEXT)", ("\ufffdA",)),
        ("WITH t AS (SELECT title FROM books) SELECT count(*) FROM t", (1000,)),
        ("SELECT 1 UNION SELECT 1", (1,)),
        ("SELECT value FROM json_each('[4]')", (4,)),
        ("SELECT count(*) FROM titles", (1000,)),
        ("SELECT 'DELETE; -- not a statement'", ("DELETE; -- not a statement",)),
        ("SELECT max(pages) OVER () FROM books LIMIT 1;", (999,)),
    ],
)
def test_honest_statements_run(library: Path, sql: str, row: tuple[object, ...]) -> None:
    with SafeDatabase(library) as database:
        assert database.query(sql).rows == [row]


def test_each_cap_has_its_own_error(library: Path) -> None:
    with SafeDatabase(library, QueryLimits(timeout_s=0.3, rows=999, bytes=20_000)) as database:
        with pytest.raises(SqlTooLarge, match="more than 999 rows"):
            database.query("SELECT 1 FROM books")
        with pytest.raises(SqlTooLarge, match="larger than"):
            database.query("SELECT title, title, title, title, title FROM books LIMIT 900")
        with pytest.raises(SqlTimeout, match=r"0\.3 s"):
            database.query(SLOW)
        with pytest.raises(SqlFailed, match="no such column: titel"):
            database.query("SELECT titel FROM books")
        with pytest.raises(SqlRefused, match="INSERT"):
            database.query("INSERT INTO authors VALUES (1)")
        assert len(database.query("SELECT 1 FROM books LIMIT 999").rows) == 999


def test_a_child_that_stops_by_itself_is_used_again(library: Path) -> None:
    with SafeDatabase(library, QueryLimits(timeout_s=0.2), children=1) as database:
        first = _pid(database)
        with pytest.raises(SqlTimeout):
            database.query(SLOW)
        assert _pid(database) == first


def test_a_child_that_does_not_listen_is_killed(library: Path) -> None:
    with SafeDatabase(library, QueryLimits(timeout_s=0.3), children=1) as database:
        first = _pid(database)
        os.kill(first, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(SqlTimeout, match="killed"):
            database.query("SELECT 1")
        assert time.monotonic() - began < 1.3
        assert database.query("SELECT 1").rows == [(1,)]
        assert _pid(database) != first


def test_a_child_that_died_is_replaced(library: Path) -> None:
    with SafeDatabase(library, children=1) as database:
        os.kill(_pid(database), signal.SIGKILL)
        with pytest.raises(SqlFailed, match="exited"):
            database.query("SELECT 1")
        assert database.query("SELECT 1").rows == [(1,)]


def test_the_engine_refuses_without_the_parser(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_the_parser(monkeypatch)
    before = library.read_bytes()
    with SafeDatabase(library, QueryLimits(timeout_s=1)) as database:
        for sql in (
            "DELETE FROM books",
            "PRAGMA query_only = OFF",
            "ATTACH ':memory:' AS x",
            "CREATE TEMP TABLE x (y)",
            "SELECT load_extension('x')",
            "SELECT * FROM sqlite_master",
            "SELECT 1; SELECT 2",
        ):
            with pytest.raises(SqlRefused):
                database.query(sql)
    assert library.read_bytes() == before


def test_a_stream_gives_all_rows_in_batches(library: Path) -> None:
    with SafeDatabase(library, QueryLimits(rows=10)) as database:
        batches = list(database.stream("SELECT book_id FROM books ORDER BY book_id", batch=300))
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    assert [row[0] for batch in batches for row in batch] == list(range(1000))


def test_a_stream_may_be_left_halfway(library: Path) -> None:
    with SafeDatabase(library, children=1) as database:
        stream = database.stream("SELECT book_id FROM books", batch=10)
        assert len(next(stream)) == 10
        stream.close()
        assert database.query("SELECT 1").rows == [(1,)]


def test_a_streams_time_is_the_engines_work(library: Path) -> None:
    with SafeDatabase(library, QueryLimits(timeout_s=0.5)) as database:
        stream = database.stream("SELECT book_id FROM books", batch=600)
        next(stream)
        time.sleep(0.7)
        assert len(next(stream)) == 400
        with pytest.raises(SqlTimeout):
            for _ in database.stream("SELECT 1 FROM books a, books b, books c", batch=10_000):
                pass


def test_threads_share_a_database(library: Path) -> None:
    with SafeDatabase(library, children=3) as database, ThreadPoolExecutor(8) as threads:
        sql = "SELECT title FROM books WHERE book_id = ?"
        rows = list(threads.map(lambda n: database.query(sql, (n,)).rows, range(200)))
    assert rows == [[(f"Book {n}",)] for n in range(200)]


def test_no_process_is_left(library: Path) -> None:
    with SafeDatabase(library) as database:
        pid = _pid(database)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_file_that_changes_under_the_queries_is_named(library: Path) -> None:
    with SafeDatabase(library) as database:
        database.query("SELECT 1")
        with sqlite3.connect(library) as writer:
            writer.execute("DELETE FROM books")
        with pytest.raises(BadInput, match="changed while it was being queried"):
            database.query("SELECT count(*) FROM books")


def test_a_write_ahead_log_is_read_too(library: Path) -> None:
    writer = sqlite3.connect(library)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("DELETE FROM books WHERE book_id >= 10")
    writer.commit()
    with SafeDatabase(library) as database:
        assert database.query("SELECT count(*) FROM books").rows == [(10,)]
    writer.close()
    with SafeDatabase(library) as database:
        assert database.query("SELECT count(*) FROM books").rows == [(10,)]


def test_a_file_that_is_missing_or_no_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such database file"):
        SafeDatabase(tmp_path / "none.sqlite")
    text = tmp_path / "text.sqlite"
    text.write_text("no database" * 1000)
    with SafeDatabase(text) as database, pytest.raises(SqlFailed, match="file is not a database"):
        database.query("SELECT 1")


def test_another_dialect_is_checked_as_such() -> None:
    check_select('SELECT "a" FROM t LIMIT 1', "postgres")
    with pytest.raises(SqlRefused):
        check_select("SELECT * INTO evil FROM t", "postgres")
    with pytest.raises(SqlRefused):
        check_select("SELECT * FROM t FOR UPDATE", "postgres")


def _pid(database: SafeDatabase) -> int:
    with database._borrow() as child:
        return child.pid
