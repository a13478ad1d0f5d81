from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.scoring.execution import Execution
from tasks.scoring.items import UnreadableLine
from tasks.scoring.running import score_file
from tests.shared_data import SHARED, needs

SPIDER = SHARED / "spider"
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"
# a: 1 x, 2 y, 2 y, NULL z; b: the same, with one more row in the suite's second database.
ROWS = [(1, "x"), (2, "y"), (2, "y"), (None, "z")]


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    folder = tmp_path / "databases" / "tiny"
    folder.mkdir(parents=True)
    for name, rows in (("tiny", ROWS), ("tiny_2", [*ROWS, (3, "x")])):
        connection = sqlite3.connect(folder / f"{name}.sqlite")
        connection.execute("CREATE TABLE a (n INTEGER, t TEXT)")
        connection.executemany("INSERT INTO a VALUES (?, ?)", rows)
        connection.commit()
        connection.close()
    return folder.parent


def write(path: Path, pairs: list[tuple[str, Any]]) -> str:
    lines = [
        json.dumps({"id": n, "db_id": "tiny", "gold": gold, "prediction": prediction})
        for n, (gold, prediction) in enumerate(pairs)
    ]
    path.write_text("\n".join(lines))
    return str(path)


# clause: gold, prediction, streambench, bird, test-suite
CLAUSES = {
    "order": ("SELECT n FROM a ORDER BY n", "SELECT n FROM a ORDER BY n DESC", "correct", "correct", "wrong"),
    "order not asked for": (
        "SELECT n FROM a",
        "SELECT n FROM a ORDER BY n DESC",
        "correct",
        "correct",
        "correct",
    ),
    "duplicates": ("SELECT n FROM a", "SELECT n FROM a GROUP BY n", "correct", "correct", "wrong"),
    # DISTINCT is removed from both queries, so both return 1, 2, 2, NULL.
    "distinct": ("SELECT DISTINCT n FROM a", "SELECT n FROM a", "correct", "correct", "correct"),
    "column order": ("SELECT n, t FROM a", "SELECT t, n FROM a", "wrong", "wrong", "correct"),
    "null": ("SELECT NULL", "SELECT n FROM a WHERE t = 'z'", "correct", "correct", "correct"),
    "float": ("SELECT 1", "SELECT 1.0", "correct", "correct", "correct"),
    "text": ("SELECT 1", "SELECT '1'", "wrong", "wrong", "wrong"),
    "both empty": (
        "SELECT n FROM a WHERE n > 9",
        "SELECT t FROM a WHERE n > 9",
        "empty",
        "correct",
        "correct",
    ),
    "gold empty": ("SELECT n FROM a WHERE n > 9", "SELECT 1", "empty", "wrong", "wrong"),
    "prediction empty": ("SELECT 1", "SELECT n FROM a WHERE n > 9", "empty", "wrong", "wrong"),
    "error": ("SELECT 1", "SELECT m FROM a", "error", "error", "error"),
    "empty text": ("SELECT 1", "", "error", "error", "error"),
    "timeout": ("SELECT 1", ENDLESS, "timeout", "timeout", "timeout"),
    "gold error": ("SELECT m FROM a", "SELECT 1", "gold-error", "gold-error", "gold-error"),
    "fence": ("SELECT 1", "```sql\nSELECT 1\n```", "correct", "correct", "correct"),
    "no SELECT": ("SELECT count(*) FROM a", "count(n) + 1 FROM a", "correct", "correct", "correct"),
    "operator in two parts": ("SELECT 1", "SELECT 1 WHERE 2 > = 1", "error", "error", "correct"),
    "two semicolons": ("SELECT 1", "SELECT 1;;", "error", "error", "correct"),
    # Four rows in the first database, five in the second: only the suite shows that 4 is not a count.
    "suite": ("SELECT count(*) FROM a", "SELECT 4", "correct", "correct", "wrong"),
}


def test_every_clause_by_every_rule(databases: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "items.jsonl", [clause[:2] for clause in CLAUSES.values()])
    out = tmp_path / "out.jsonl"
    report = score_file(Execution(databases, timeout=0.3), file, rule="all", items=out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    for (name, (_, _, *expected)), line in zip(CLAUSES.items(), lines, strict=True):
        given = [line[rule]["outcome"] for rule in ("streambench", "bird", "test-suite")]
        assert (name, given) == (name, expected)
        for rule in ("streambench", "bird", "test-suite"):
            correct = line[rule]["outcome"] == "correct"
            failed = line[rule]["outcome"] == "gold-error"
            assert line[rule]["accuracy"] == (None if failed else int(correct))
    assert (report["n"], report["n_scored"], report["n_failed"]) == (20, 19, 1)
    # By hand: the scored items (of 19) with `correct` in their column.
    assert report["streambench"]["accuracy"] == pytest.approx(9 / 19)
    assert report["bird"]["accuracy"] == pytest.approx(10 / 19)
    assert report["test-suite"]["accuracy"] == pytest.approx(10 / 19)


def test_distinct_may_be_kept(databases: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "items.jsonl", [CLAUSES["distinct"][:2]])
    assert score_file(Execution(databases), file, rule="test-suite")["accuracy"] == 1
    assert score_file(Execution(databases, keep_distinct=True), file, rule="test-suite")["accuracy"] == 0


def test_missing_predictions_are_failed_wherever_they_stand(databases: Path, tmp_path: Path) -> None:
    pairs: list[tuple[str, Any]] = [("SELECT 1", None), ("SELECT 1", None), ("SELECT 1", "SELECT 1")]
    file = write(tmp_path / "items.jsonl", [*pairs, ("SELECT 1", None), ("SELECT 1", "SELECT 2"), *pairs[:1]])
    out = tmp_path / "out.jsonl"
    report = score_file(Execution(databases), file, items=out)
    assert (report["n_scored"], report["n_failed"], report["accuracy"]) == (2, 4, 0.5)
    assert [json.loads(line)["accuracy"] for line in out.read_text().splitlines()] == [
        None,
        None,
        1,
        None,
        0,
        None,
    ]


def test_lines_without_their_database_are_named_and_the_rest_is_scored(
    databases: Path, tmp_path: Path
) -> None:
    (databases / "broken").mkdir()
    good = {"db_id": "tiny", "gold": "SELECT 1", "prediction": "SELECT 1"}
    records = [
        {"id": 1, **good},
        {"id": 2, **good, "db_id": "nowhere"},
        {"id": 3, **good, "db_id": "../databases/tiny"},
        {"id": 4, **good, "db_id": "broken"},
        {"id": 5, **good, "db_id": None},
        {"id": 6, **good, "db_id": "x" * 5000},
        {"id": 7, **good, "db_id": "a\0b"},
        {"id": 8, **good, "gold": None},
        {"id": 9, **good, "prediction": 5},
        {"id": 10, **good},
        {"id": 11, **good, "gold": "SELECT strftime('%Y', 'now')"},
        {"id": 12, **good, "prediction": "SELECT date('now') IS NOT NULL"},
    ]
    path = tmp_path / "items.jsonl.gz"
    with gzip.open(path, "wt") as stream:
        stream.writelines(json.dumps(record) + "\n" for record in records)
    heard: list[UnreadableLine] = []
    report = score_file(Execution(databases), str(path), report=heard.append)
    assert (report["n"], report["n_unreadable"], report["accuracy"]) == (4, 8, 1)
    assert [line.number for line in heard] == [2, 3, 4, 5, 6, 7, 8, 9]
    # The gold query that reads the clock at run time (11) has no verdict.
    assert report["n_failed"] == 1
    assert all("\n" not in line.why and 0 < len(line.why) < 400 for line in heard)
    assert "nowhere.sqlite: no such database file" in heard[0].why


def test_options_that_cannot_be_are_refused(databases: Path) -> None:
    with pytest.raises(BadInput, match="needs --databases"):
        Execution()
    with pytest.raises(BadInput, match="is not a folder"):
        Execution(databases / "none")
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(BadInput, match="more than 0"):
            Execution(databases, timeout=seconds)


Sql = st.sampled_from(
    ["SELECT n FROM a", "SELECT n, t FROM a WHERE n < 2", "SELECT t FROM a ORDER BY t", "x"]
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(Sql, Sql), min_size=1, max_size=12), st.randoms())
def test_the_order_of_lines_changes_nothing(
    databases: Path, tmp_path: Path, pairs: list[tuple[str, str]], chance: Any
) -> None:
    metric = Execution(databases)
    before = score_file(metric, write(tmp_path / "a.jsonl", pairs), rule="all")
    chance.shuffle(pairs)
    assert score_file(metric, write(tmp_path / "b.jsonl", pairs), rule="all") == before


@needs("spider")
def test_spiders_gold_queries_are_correct_but_for_the_empty_ones(tmp_path: Path) -> None:
    records = json.loads((SPIDER / "dev.json").read_text())
    file, out = tmp_path / "dev.jsonl", tmp_path / "out.jsonl"
    file.write_text(
        "\n".join(
            json.dumps(
                {"id": n, "db_id": record["db_id"], "gold": record["query"], "prediction": record["query"]}
            )
            for n, record in enumerate(records)
        )
    )
    report = score_file(Execution(SPIDER / "database"), str(file), rule="all", items=out)
    assert (report["n"], report["n_scored"]) == (1034, 1034)
    assert (report["bird"]["accuracy"], report["test-suite"]["accuracy"]) == (1, 1)
    outcomes = Counter(json.loads(line)["streambench"]["outcome"] for line in out.read_text().splitlines())
    assert set(outcomes) == {"correct", "empty"}
    connections = {
        name: sqlite3.connect(SPIDER / "database" / name / f"{name}.sqlite")
        for name in {record["db_id"] for record in records}
    }
    empty = sum(not connections[record["db_id"]].execute(record["query"]).fetchall() for record in records)
    assert outcomes == {"correct": 1034 - empty, "empty": empty}
