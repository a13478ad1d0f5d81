from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from tasks.errors import BadInput
from tasks.scoring.execution import Execution
from tasks.scoring.running import score_file

URLS = {
    "postgresql": "postgresql+psycopg://root@127.0.0.1/{db_id}",
    "mariadb": "mariadb+pymysql://root@127.0.0.1/{db_id}",
}
TABLE = "scored_execution"
SLOW = f"SELECT count(*) FROM {', '.join(f'{TABLE} t{n}' for n in range(24))}"
"""A query that counts 3 ** 24 rows."""


@pytest.fixture(params=list(URLS))
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    engine = create_engine(URLS[request.param].replace("{db_id}", "test"))
    try:
        with engine.begin() as connection:
            connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
            connection.execute(text(f"CREATE TABLE {TABLE} (n INTEGER, t VARCHAR(9), d NUMERIC(9, 2))"))
            connection.execute(text(f"INSERT INTO {TABLE} VALUES (1, 'a', 0.5), (2, 'b', 2), (NULL, 'c', 3)"))
    except SQLAlchemyError:
        pytest.skip(f"no {request.param} on loopback")
    yield request.param
    with engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {TABLE}"))
    engine.dispose()


def test_each_outcome_on_a_server(server: str, tmp_path: Path) -> None:
    gold = f"SELECT n, t FROM {TABLE}"
    expected = [
        (gold, f"SELECT n, t FROM {TABLE} ORDER BY t DESC", "correct"),
        (gold, f"n, t FROM {TABLE}", "correct"),
        (gold, f"SELECT t, n FROM {TABLE}", "wrong"),
        ("SELECT 2", f"SELECT d FROM {TABLE} WHERE n = 2", "correct"),
        ("SELECT 0.5", f"SELECT d FROM {TABLE} WHERE n = 1", "correct"),
        ("SELECT 1", "SELECT '1'", "wrong"),
        ("SELECT 1", "SELECT 5 % 4", "correct"),
        ("SELECT t", f"SELECT t FROM {TABLE} WHERE t LIKE 'a%s'", "gold-error"),
        (gold, f"SELECT n, t FROM {TABLE} WHERE t LIKE '%s'", "empty"),
        ("SELECT 1", "SELECT missing", "error"),
        ("SELECT 1", f"SELECT 1; DELETE FROM {TABLE}", "error"),
        ("SELECT 1", f"WITH x AS (DELETE FROM {TABLE} RETURNING n) SELECT * FROM x", "error"),
        ("SELECT 1", SLOW, "timeout"),
        ("SELECT 1", f"SELECT 1 WHERE 1 IN ({'(SELECT 1), ' * 1000} 1)", "error"),
        ("SELECT 3", f"SELECT count(*) FROM {TABLE}", "correct"),
    ]
    # Only a prediction may read the clock, since gold answers must not change.
    expected += [
        ("SELECT 3", f"SELECT count(*) FROM {TABLE} WHERE CURRENT_DATE > '2020-01-01'", "correct"),
        ("SELECT 3", f"SELECT count(*) FROM {TABLE} WHERE CURRENT_TIMESTAMP > '2020-01-01'", "correct"),
    ]
    if server == "mariadb":
        nested = "WITH a AS (" * 30 + "SELECT 1 AS x" + ") SELECT x FROM a" * 30
        expected += [("SELECT 1", nested, "error"), ("SELECT 3", f"SELECT count(*) FROM {TABLE}", "correct")]
    if server == "postgresql":
        # Functions with side effects are refused, since the effects would outlive the query.
        expected += [
            ("SELECT 1", "SELECT set_config('statement_timeout', '0', false)", "error"),
            ("SELECT 1", "SELECT pg_sleep(60)", "error"),
            ("SELECT 1", "SELECT set_config('transaction_read_only', 'off', false)", "error"),
            ("SELECT 1", SLOW, "timeout"),
            ("SELECT 1", "SELECT (CAST(4711 AS bigint)).pg_advisory_lock", "error"),
            ("SELECT 1", "SELECT x.pg_sleep FROM abs(CAST(60 AS double precision)) AS x", "error"),
            ("SELECT 'NaN'::float", "SELECT 'NaN'::float + 1", "correct"),
            ("SELECT ARRAY[1, 2]", "SELECT ARRAY[1, 1 + 1]", "correct"),
        ]
    file, out = tmp_path / "items.jsonl", tmp_path / "out.jsonl"
    file.write_text(
        "\n".join(
            json.dumps({"id": n, "db_id": "test", "gold": gold, "prediction": prediction})
            for n, (gold, prediction, _) in enumerate(expected)
        )
    )
    score_file(Execution(url=URLS[server], timeout=1), str(file), items=out)
    outcomes = [json.loads(line)["outcome"] for line in out.read_text().splitlines()]
    assert list(zip([case[1] for case in expected], outcomes, strict=True)) == [case[1:] for case in expected]


def test_distinct_on_chooses_the_same_rows_under_every_rule(server: str, tmp_path: Path) -> None:
    if server != "postgresql":
        pytest.skip("DISTINCT ON is PostgreSQL's")
    file, out = tmp_path / "items.jsonl", tmp_path / "out.jsonl"
    gold = f"SELECT DISTINCT ON (d > 1) t FROM {TABLE} ORDER BY d > 1, t"
    item = {
        "id": 1,
        "db_id": "test",
        "gold": gold,
        "prediction": f"SELECT MIN(t) FROM {TABLE} GROUP BY d > 1 ORDER BY 1",
    }
    file.write_text(json.dumps(item))
    for rule in Execution.rules:
        score_file(Execution(url=URLS[server]), str(file), rule=rule, items=out)
        assert json.loads(out.read_text())["outcome"] == "correct", rule


def test_a_url_that_cannot_be_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps({"id": 1, "db_id": "test", "gold": "SELECT 1", "prediction": "SELECT 1"}))
    for url, line in (
        ("postgresql://root:secret@127.0.0.1/test", "contains a password"),
        ("sqlite:///x.sqlite", "is a SQLite file"),
        ("no url", "is not a SQLAlchemy URL"),
        ("postgresql+psycopg://root@127.0.0.1:1/test", "cannot be reached"),
    ):
        with pytest.raises(BadInput, match=line) as caught:
            score_file(Execution(url=url), str(file))
        assert "secret" not in str(caught.value)
    with pytest.raises(BadInput, match="accepts only one of --databases and --url"):
        Execution(tmp_path, url="postgresql://root@127.0.0.1/test")
