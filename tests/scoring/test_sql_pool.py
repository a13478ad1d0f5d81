from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.databases.snapshot import Snapshot
from tasks.scoring.sql_pool import QueryPair, SqlPool
from tests.hostile.statements import read_statements

ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"
# One call of a C function that never checks the time limit.
DEAF = "SELECT length(replace(hex(randomblob(5e7)), '0', '1')) + length(hex(randomblob(4e7))) FROM a, a, a, a"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "small" / "small.sqlite"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE a (n INTEGER, t TEXT)")
    connection.executemany("INSERT INTO a VALUES (?, ?)", [(n, str(n)) for n in range(1000)])
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def uri(database: Path) -> str:
    return Snapshot(database).uri


@pytest.fixture
def pool() -> Iterator[SqlPool]:
    with SqlPool(workers=2, seconds=0.3) as opened:
        yield opened


def judge(pool: SqlPool, uri: str, gold: str, predicted: str, rule: str = "bird") -> str:
    (verdict,) = pool.judge([QueryPair(rule, (uri,), gold, predicted)])
    return verdict.outcome


@pytest.mark.parametrize(
    ("predicted", "outcome"),
    [
        ("SELECT n FROM a WHERE n < 2 ORDER BY n DESC", "correct"),
        ("SELECT t FROM a WHERE n < 2", "wrong"),
        ("SELECT m FROM a", "error"),
        ("SELECT", "error"),
        ("SELECT 1; SELECT 0", "error"),
        ("SELECT '\0'", "error"),
        ("SELECT '\ud800'", "error"),
        ("DELETE FROM a", "error"),
        ("PRAGMA query_only = OFF", "error"),
        ("ATTACH ':memory:' AS b", "error"),
        ("SELECT load_extension('x')", "error"),
        (ENDLESS, "timeout"),
        (DEAF, "timeout"),
        ("SELECT CAST(x'ff' AS TEXT)", "wrong"),
    ],
)
def test_a_prediction_gets_its_outcome(pool: SqlPool, uri: str, predicted: str, outcome: str) -> None:
    assert judge(pool, uri, "SELECT 0 UNION SELECT 1", predicted) == outcome


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [
        ("SELECT n FROM a WHERE n < 5", "correct"),
        ("SELECT random()", "gold-error"),
        ("SELECT RANDOMBLOB(16)", "gold-error"),
        ("SELECT n FROM a ORDER BY RANDOM()", "gold-error"),
    ],
)
def test_a_query_against_itself_is_right_unless_chance_is_in_it(
    pool: SqlPool, uri: str, sql: str, outcome: str
) -> None:
    (verdict,) = pool.judge([QueryPair("test-suite", (uri,), sql, sql, ordered=True)])
    assert verdict.outcome == outcome


def test_text_that_is_no_utf8_is_compared_by_its_bytes(pool: SqlPool, uri: str) -> None:
    assert judge(pool, uri, "SELECT CAST(x'ff' AS TEXT)", "SELECT CAST(x'ff' AS TEXT) AS t") == "correct"
    assert judge(pool, uri, "SELECT CAST(x'ff' AS TEXT)", "SELECT CAST(x'fe' AS TEXT)") == "wrong"
    assert judge(pool, uri, "SELECT 'é'", "SELECT CAST(x'c3a9' AS TEXT)") == "correct"


def test_a_gold_query_that_fails_is_not_the_predictions_fault(pool: SqlPool, uri: str) -> None:
    for gold in ("SELECT m FROM a", ENDLESS, DEAF):
        assert judge(pool, uri, gold, "SELECT 1") == "gold-error"


def test_what_is_no_database_is_a_gold_error(pool: SqlPool, tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("no database" * 100)
    (verdict,) = pool.judge([QueryPair("bird", (Snapshot(text).uri,), "SELECT 1", "SELECT 1")])
    assert verdict.outcome == "gold-error"
    assert "not a database" in verdict.reason


def test_every_database_of_a_suite_must_agree(pool: SqlPool, database: Path) -> None:
    other = database.with_name("other.sqlite")
    connection = sqlite3.connect(other)
    connection.executescript("CREATE TABLE a (n INTEGER, t TEXT); INSERT INTO a VALUES (7, 'seven')")
    connection.close()
    uris = (Snapshot(database).uri, Snapshot(other).uri)
    gold = "SELECT count(*) FROM a"
    pairs = [
        QueryPair("test-suite", uris, gold, prediction)
        for prediction in (gold, "SELECT 1000", "SELECT count(n) FROM a")
    ]
    assert [verdict.outcome for verdict in pool.judge(pairs)] == ["correct", "wrong", "correct"]


def test_a_worker_reads_many_databases_with_and_without_a_clock_guard(tmp_path: Path, database: Path) -> None:
    gold = "SELECT date('2024-01-01', '+' || n || ' days') FROM a"
    pairs = []
    for number in range(60):
        copied = tmp_path / f"copy{number}.sqlite"
        copied.write_bytes(database.read_bytes())
        pairs.append(QueryPair("bird", (Snapshot(copied).uri,), gold, gold.replace(" FROM", " AS day FROM")))
    with SqlPool(workers=1, seconds=5) as pool:
        assert Counter(verdict.outcome for verdict in pool.judge([*pairs, *pairs])) == {"correct": 120}


def test_answers_come_in_order_however_long_each_takes(pool: SqlPool, uri: str) -> None:
    plan = [ENDLESS if n % 50 == 7 else f"SELECT {n % 2}" for n in range(300)]
    outcomes = [
        verdict.outcome for verdict in pool.judge(QueryPair("bird", (uri,), "SELECT 1", sql) for sql in plan)
    ]
    assert outcomes == [
        "timeout" if sql == ENDLESS else "correct" if n % 2 else "wrong" for n, sql in enumerate(plan)
    ]


def test_a_worker_that_is_killed_loses_only_the_pair_it_was_at(pool: SqlPool, uri: str) -> None:
    plan = ["SELECT 1"] * 10 + [DEAF] + ["SELECT 1"] * 30
    counts = Counter(
        verdict.outcome for verdict in pool.judge(QueryPair("bird", (uri,), "SELECT 1", sql) for sql in plan)
    )
    assert counts == {"correct": 40, "timeout": 1}


def test_a_query_that_takes_all_memory_is_an_error(uri: str) -> None:
    hungry = "SELECT printf('%.1000c', t) || x.n FROM a, (SELECT n FROM a) x"
    with SqlPool(workers=1, seconds=20, memory_mb=150) as pool:
        verdicts = list(
            pool.judge(
                QueryPair("bird", (uri,), "SELECT 1", sql) for sql in (hungry, "SELECT 1", "SELECT 1.0")
            )
        )
    assert [verdict.outcome for verdict in verdicts] == ["error", "correct", "correct"]
    assert "memory" in verdicts[0].reason


def test_hostile_statements_change_nothing_and_end(pool: SqlPool, database: Path, uri: str) -> None:
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    hostile = read_statements("statements_sqlite", made=False)
    texts = [text.replace("{folder}", str(database.parent)) for text in hostile.values()]
    outcomes = {
        verdict.outcome
        for verdict in pool.judge(QueryPair("bird", (uri,), "SELECT 'gold'", t) for t in texts)
    }
    assert outcomes <= {"wrong", "error", "timeout"}
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert [path.name for path in database.parent.iterdir()] == [database.name]
    assert judge(pool, uri, "SELECT count(*) FROM a", "SELECT 1000") == "correct"


def test_no_worker_outlives_its_pool(uri: str) -> None:
    with SqlPool(workers=1) as pool:
        judge(pool, uri, "SELECT 1", "SELECT 1")
        pid = pool._workers[0]._process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
