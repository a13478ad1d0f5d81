from __future__ import annotations

import pytest

from tasks.databases.clock import find_clock

CLOCKS = {
    "sqlite": """
        SELECT date('now'); SELECT julianday(); SELECT CURRENT_DATE;
        SELECT strftime('%s'); SELECT time('subsec');
        SELECT strftime('%Y', 'NOW') - born FROM a; SELECT strftime('%Y', CURRENT_TIMESTAMP); SELECT random();
        SELECT date("now"); SELECT datetime(born, 'localtime') FROM a; SELECT date /**/ ( 'now' , '-1 day');
        SELECT sqlite_version(); SELECT 1 WHERE x > unixepoch(); SELECT timediff(born, 'now') FROM a;
        SELECT a FROM b ORDER BY RANDOM(); SELECT date();
        SELECT abs(julianday('now') - julianday(born)) FROM a
    """,
    "postgres": """
        SELECT CURRENT_DATE; SELECT NOW(); SELECT user; SELECT version(); SELECT 'now'::timestamp;
        SELECT DATE ' Today'; SELECT age(born) FROM a; SELECT LOCALTIMESTAMP; SELECT gen_random_uuid();
        SELECT pg_backend_pid(); SELECT current_setting('x'); SELECT x FROM a WHERE born < 'yesterday';
        SELECT session_user; SELECT random()
    """,
    "mysql": """
        SELECT NOW(); SELECT CURDATE(); SELECT UNIX_TIMESTAMP(); SELECT @@version; SELECT @a; SELECT UTC_DATE;
        SELECT CURRENT_USER; SELECT RAND(); SELECT DATABASE(); SELECT user(); SELECT SYSDATE(); SELECT UUID();
        SELECT CURRENT_TIMESTAMP()
    """,
}
CLOCKLESS = {
    "sqlite": """
        SELECT 'now'; SELECT date(born) FROM a; SELECT strftime('%Y', born) FROM a; SELECT now FROM a;
        SELECT a.current_date FROM a; SELECT "current_date" FROM a; SELECT 'date(now)';
        SELECT user, version FROM a;
        SELECT title FROM a WHERE title = 'now'; SELECT date(born, '+1 day') FROM a; SELECT '
    """,
    "postgres": """
        SELECT age(a, b) FROM t; SELECT t.user FROM t; SELECT "user" FROM t; SELECT max(age) FROM t;
        SELECT title FROM t WHERE title = 'now and then'
    """,
    "mysql": """
        SELECT UNIX_TIMESTAMP(born) FROM a; SELECT user FROM a; SELECT DATE(born) FROM a; SELECT now FROM a
    """,
}


def list_cases(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(dialect, sql.strip()) for dialect, text in texts.items() for sql in text.split(";")]


@pytest.mark.parametrize(("dialect", "sql"), list_cases(CLOCKS))
def test_what_hangs_on_the_clock_is_found(dialect: str, sql: str) -> None:
    assert find_clock(sql, dialect)


@pytest.mark.parametrize(("dialect", "sql"), list_cases(CLOCKLESS))
def test_what_only_looks_like_it_is_not(dialect: str, sql: str) -> None:
    assert find_clock(sql, dialect) == ""


def test_an_argument_of_any_length_is_one() -> None:
    assert find_clock(f"SELECT julianday({' + '.join(['born'] * 500)}) FROM a", "sqlite") == ""
