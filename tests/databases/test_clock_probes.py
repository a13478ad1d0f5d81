"""Tests of gold queries that read the clock in disguise, and of valid queries, on three engines.

A probe passes if it is refused by its text or at run time. A valid statement must be accepted.
"""

from __future__ import annotations

import json
import sqlite3
from itertools import islice, product
from pathlib import Path

import pytest

from tasks.databases.clock import find_clock
from tasks.databases.execution import SafeDatabase
from tasks.databases.snapshot import Snapshot
from tasks.errors import SqlError
from tasks.scoring.outcome import Outcome
from tasks.scoring.sql_pool import QueryPair, SqlPool
from tasks.scoring.sql_servers import PASSWORD, SqlServers, sort_rows
from tests.databases.servers import PASSWORD as READERS
from tests.databases.servers import PASSWORD_ENV, open_place

ROWS = [
    (1, "now", "2001-02-03", "2001-02-03 10:30:00", "10:30:00"),
    (2, "Now and then", "1980-12-31", "1980-12-31 00:00:00", "23:59:59"),
    (3, "now", "2030-06-01", "2030-06-01 12:00:00", "00:00:00"),
]
TABLE = "CREATE TABLE t (n INTEGER, note VARCHAR(40), born {date}, seen {timestamp}, at {time})"
VIEWS = {
    "sqlite": ("date('now')", "date(born)"),
    "mysql": ("CURDATE()", "YEAR(born)"),
    "postgres": ("CURRENT_DATE", "date_trunc('month', seen)"),
}
COUNT = {"sqlite": 170, "mysql": 160, "postgres": 170}
CONTEXTS = (
    "SELECT {}", "SELECT n FROM t WHERE note < {} ORDER BY n",
    "SELECT count(*) FROM t HAVING max({}) IS NOT NULL",
    "SELECT n, CASE WHEN n > 1 THEN {} END FROM t", "SELECT x FROM (SELECT {} AS x) AS s",
    "WITH s AS (SELECT {} AS x FROM t) SELECT max(x) FROM s",
)  # fmt: skip
PROBES = {
    "sqlite": (
        (
            "date({})", "datetime({}, '+1 day')", "strftime('%Y', {})", "julianday({})", "unixepoch({})",
            "time({})", "date({}, 'start of year')", "strftime('%s', {}) / 86400", "date(note)",
            "date(seen, 'local' || 'time')", "datetime(seen, lower('UTC'))",
            "strftime('%H', born, 'loc' || 'altime')",
        ),
        (
            "'no' || 'w'", "lower('NOW')", "substr('know', 2)", "replace('nxw', 'x', 'o')",
            "char(110, 111, 119)",
            "(SELECT note FROM t WHERE n = 1)", "coalesce(NULL, 'now')", "CAST('now' AS TEXT)",
            "printf('%s', 'now')",
            "trim(' now ')", "CAST(x'6e6f77' AS TEXT)", "x'6e6f77'", "json_extract('[\"now\"]', '$[0]')",
            "'now'",
        ),
    ),
    "mysql": (
        (
            "DATE({})", "TIMESTAMP({})", "CAST({} AS DATETIME)", "CAST({} AS DATE)", "YEAR({})",
            "DAYNAME({})",
            "LAST_DAY({})", "TO_DAYS({})", "DATEDIFF(born, {})",
            "DATE_ADD(CAST({} AS DATETIME), INTERVAL 1 DAY)",
            "DATE_FORMAT({}, '%Y-%m-%d')", "born < {}", "COALESCE(seen, {})", "GREATEST(seen, {})",
            "EXTRACT(YEAR FROM {})",
            "WEEKDAY({})", "UNIX_TIMESTAMP({})", "CASE WHEN n > 1 THEN born ELSE {} END", "QUARTER({})",
        ),
        (
            "CAST('10:00' AS TIME)", "at", "TIME(seen)", "CAST(CONCAT('1', '0:00') AS TIME)",
            "MAKETIME(10, 0, 0)",
            "NOW()", "CURRENT_TIMESTAMP(3)", "TIME '10:00:00'", "CURDATE()", "LOCALTIME(0)", "SYSDATE()",
        ),
    ),
    "postgres": (
        (
            "CAST({} AS timestamp)", "CAST({} AS date)", "({})::timestamptz", "date({})",
            "CAST({} AS date) - born",
            "(CAST({} AS text))::date", "ARRAY[{}]::date[]", "extract(year FROM ({})::date)",
            "date_trunc('day', ({})::timestamp)", "({})::timestamp(0)", "age(({})::timestamp)",
            "({})::timetz",
        ),
        (
            "'no' || 'w'", "'today 12:00'", "lower('NOW')", "'tomorrow'", "substring('know', 2)", "note",
            "(SELECT note FROM t WHERE n = 1)", "coalesce(NULL, 'now')", "'yesterday 10:00 PST'",
            "'no'\n'w'", "E'\\x6eow'",
            "concat('to', 'day')", "'allballs today'", "'NOW'", "' now '",
            "'today, 10:00 Europe/Berlin'", "U&'\\006eow'",
        ),
    ),
}  # fmt: skip
OF_OWN = {
    "sqlite": [
        "SELECT * FROM clocked", "SELECT CURRENT_DATE", "SELECT n FROM t ORDER BY random()",
        "SELECT d FROM clocked WHERE 1",
    ],
    "mysql": [
        "SELECT * FROM clocked", "SELECT n FROM t WHERE seen > at", "SELECT mysql.now()",
        "SELECT n FROM t JOIN clocked ON d > born",
    ],
    "postgres": [
        "SELECT n FROM t WHERE born < 'today'", "SELECT pg_catalog.now()", "SELECT CURRENT_TIMESTAMP(3)",
        "SELECT LOCALTIME(0)",
        "SELECT (note).date FROM t", "SELECT t.timestamp FROM t", "SELECT '{now}'::date[]",
        "SELECT '[today,tomorrow)'::daterange",
        "SELECT at AT TIME ZONE 'Europe/Berlin' FROM t", "SELECT TIME '10:00' AT TIME ZONE 'Europe/Berlin'",
        "SELECT '10:00 Europe/Berlin'::timetz",
        "SELECT n FROM t WHERE seen BETWEEN 'yesterday' AND 'tomorrow'",
        "SELECT d FROM jsonb_to_record('{\"d\": \"tod\\u0061y\"}') AS x(d date)",
        "SELECT born FROM t UNION SELECT 'now'",
        "SELECT coalesce(born, 'now') FROM t", "SELECT greatest(born, 'today') FROM t",
        "SELECT age(born) FROM t",
    ],
}  # fmt: skip
HONEST = {
    "sqlite": (
        "date(born)", "strftime('%Y', born)", "datetime(seen, '+1 day')", "julianday(seen)", "time(at)",
        "unixepoch(seen)",
        "date(born, 'start of month')", "note", "'now'", "upper(note)", "strftime('%m', seen)", "n + 1",
        "born",
        "julianday(seen) - julianday(born)", "date('2020-01-01')", "datetime(0, 'unixepoch')",
        "CAST(strftime('%Y', born) AS INT)",
        "'today'", "length(note)", "date(n)", "strftime('%Y-%m', '2020-05-06')", "round(n, 1)",
        "time(seen)", "date(NULL)",
        "coalesce(born, '2020-01-01')", "substr(born, 1, 4)", "'date(now)'", "date(seen, 'weekday 0')",
        "time('10:00')",
    ),
    "mysql": (
        "DATE(seen)", "YEAR(born)", "DATE_FORMAT(seen, '%Y-%m')", "note", "'now'",
        "DATEDIFF(seen, born)", "at", "HOUR(at)",
        "UNIX_TIMESTAMP(seen)", "LAST_DAY(born)", "DAYNAME(born)", "born", "seen",
        "CAST('2020-01-01' AS DATE)", "n * 2", "UPPER(note)",
        "TIMESTAMP '2020-01-01 10:00:00'", "DATE_ADD(born, INTERVAL 1 MONTH)", "EXTRACT(YEAR FROM seen)",
        "TIME(seen)",
        "CAST(born AS DATETIME)", "STR_TO_DATE('2020-01-02', '%Y-%m-%d')", "'today'", "MINUTE(at)",
        "TO_DAYS(born)", "QUARTER(born)",
        "COALESCE(seen, born)",
    ),
    "postgres": (
        "date_trunc('month', seen)", "extract(year FROM born)", "seen::date", "CAST(seen AS date)",
        "note", "'now and then'", "at",
        "born + interval '1 day'", "age(seen, born)", "DATE '2020-01-01'", "'2020-01-01'::date",
        "TIMESTAMP '2020-01-01 10:00:00'",
        "to_char(seen, 'YYYY-MM')", "make_date(2020, 1, 2)", "born - DATE '2000-01-01'", "upper(note)",
        "n + 1", "date(seen)",
        "to_date('2020', 'YYYY')", "seen AT TIME ZONE 'Europe/Berlin'", "TIME '10:00'", "seen::time",
        "born::timestamp", "born::text",
        "coalesce(born, '2020-01-01')", "max(seen::date) OVER ()", "(SELECT max(seen) FROM t)::date",
        "'2020-01-01 10:00+02'::timestamptz",
        "CASE WHEN n > 1 THEN born END", "extract(hour FROM at)", "n::text", "'12'::int",
    ),
}  # fmt: skip
HONEST_CONTEXTS = (
    "SELECT {} FROM t ORDER BY n", "SELECT n FROM t WHERE {} IS NOT NULL",
    "SELECT x FROM (SELECT {} AS x FROM t) AS s",
    "WITH s AS (SELECT {} AS x FROM t) SELECT count(x) FROM s", "SELECT DISTINCT {} FROM t",
    "SELECT n, {} FROM t WHERE born > '1990-01-01'",
)  # fmt: skip


def list_probes(dialect: str) -> list[str]:
    """List statements that may read the clock, evenly sampled over forms, spellings and contexts."""
    forms, texts = PROBES[dialect]
    every = [context.format(form.format(text)) for context, form, text in product(CONTEXTS, forms, texts)]
    step = 7 if len(every) % 7 else 11
    spread = [every[place * step % len(every)] for place in range(len(every))]
    found = dict.fromkeys((*OF_OWN[dialect], *spread))
    return list(islice((sql if " t" in sql else add_table(sql) for sql in found), COUNT[dialect]))


def add_table(sql: str) -> str:
    """Add the table to a statement that names a column."""
    return sql.replace(" AS x)", " AS x FROM t)") if "(SELECT" in sql else f"{sql} FROM t"


def list_honest(dialect: str) -> list[str]:
    every = (context.format(form) for context, form in product(HONEST_CONTEXTS, HONEST[dialect]))
    honest = [sql for sql in every if "OVER" not in sql or "WHERE max" not in sql]
    assert len(honest) >= COUNT[dialect] - 12
    return honest[: COUNT[dialect]]


def find_refused(
    dialect: str, statements: list[str], pool: SqlPool | SqlServers, name: str
) -> dict[str, str]:
    """Map refused statements to the reason: refused by the text, or at run time."""
    refused = {sql: reason for sql in statements if (reason := find_clock(sql, dialect))}
    left = [sql for sql in statements if sql not in refused]
    pairs = [QueryPair("bird", (name,), sql, sql) for sql in left]
    for sql, verdict in zip(left, pool.judge(pairs), strict=True):
        if verdict.outcome == Outcome.GOLD_ERROR:
            refused[sql] = verdict.reason
    return refused


def check(dialect: str, pool: SqlPool | SqlServers, name: str) -> tuple[list[str], int]:
    """Return the accepted probes, and the number of refused valid statements (at most 2%)."""
    honest = list_honest(dialect)
    wrong = find_refused(dialect, honest, pool, name)
    assert len(wrong) <= len(honest) // 50, wrong
    probes = list_probes(dialect)
    assert len(probes) == COUNT[dialect]
    return sorted(set(probes) - find_refused(dialect, probes, pool, name).keys()), len(wrong)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE.format(date="DATE", timestamp="TIMESTAMP", time="TIME"))
        connection.execute("CREATE INDEX born_in ON t (strftime('%Y', born))")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ROWS)
        for view, expression in zip(("clocked", "clockless"), VIEWS["sqlite"], strict=True):
            connection.execute(f"CREATE VIEW {view} AS SELECT {expression} AS d FROM t")
    connection.close()
    return path


def test_sqlite_refuses_every_probe(file: Path) -> None:
    with SqlPool(workers=2) as pool:
        accepted, _ = check("sqlite", pool, Snapshot(file).uri)
        assert accepted == []
        assert find_refused("sqlite", ["SELECT * FROM clockless"], pool, Snapshot(file).uri) == {}


def test_what_reads_the_clock_is_named(file: Path) -> None:
    with SqlPool(workers=1) as pool:
        pair = QueryPair("bird", (Snapshot(file).uri,), "SELECT date('no' || 'w')", "SELECT 1")
        (verdict,) = pool.judge([pair])
        told = "it depends on the clock, the time zone or random numbers: date()"
        assert verdict.reason == f"the gold query: {told}"


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_server_refuses_every_probe_that_differs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = {"mariadb": "mysql", "postgresql": "postgres"}[kind]
    with open_place(kind) as place:
        place.run(
            TABLE.format(date="DATE", timestamp="DATETIME" if kind == "mariadb" else "TIMESTAMP", time="TIME")
        )
        place.load("t", ROWS)
        for view, expression in zip(("clocked", "clockless"), VIEWS[dialect], strict=True):
            place.run(f"CREATE VIEW {view} AS SELECT {expression} AS d FROM t")
        place.grant()
        monkeypatch.setenv(PASSWORD, READERS)
        monkeypatch.setenv(PASSWORD_ENV, READERS)
        with SqlServers(str(place.entry.url)) as servers:
            accepted, _ = check(dialect, servers, "")
            assert find_refused(dialect, ["SELECT * FROM clockless"], servers, "") == {}
        if kind == "postgresql":
            assert accepted == []
            return
        with SafeDatabase(place.entry) as database:
            differ = [sql for sql in accepted if len({read_at(database, sql, clock) for clock in CLOCKS}) > 1]
        assert differ == []
        assert len(accepted) < COUNT["mysql"] // 2, "probes that read no clock show nothing"


CLOCKS = (
    None,
    1,
    86_399,
    951_782_399,
    951_782_400,
    1_009_843_199,
    1_234_567_890,
    1_993_939_200,
    2_147_483_000,
)


def read_at(database: SafeDatabase, sql: str, clock: int | None) -> str:
    try:
        return json.dumps(sort_rows(database.query(sql, clock=clock).rows))
    except SqlError as error:
        return str(error)
