"""Tests that names that are SQL keywords are quoted for SQLite, and other names only if necessary."""

import sqlite3
from contextlib import closing

import pytest

from tasks.databases.quoted_names import needs_quotes, quote_name
from tasks.longform.build.sql import quote_column

KEYWORDS = """
ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN BETWEEN BY
CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE
CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED DELETE DESC DETACH DISTINCT DO DROP EACH
ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FAIL FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL
GENERATED GLOB GROUP GROUPS HAVING IF IGNORE IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD
INTERSECT INTO IS ISNULL JOIN KEY LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL
NULL NULLS OF OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE RANGE
RECURSIVE REFERENCES REGEXP REINDEX RELEASE RENAME REPLACE RESTRICT RETURNING RIGHT ROLLBACK ROW ROWS
SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION TRIGGER UNBOUNDED UNION UNIQUE UPDATE
USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT
"""
"""SQLite's keywords, from its manual."""


@pytest.mark.parametrize("word", [*KEYWORDS.split(), "two words", 'a"quote', "0day", "Größe"])
def test_a_table_and_column_of_any_name_can_be_asked(word: str) -> None:
    name = quote_name(word).sql(dialect="sqlite")
    column = quote_column(f"{word}.{word}")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE {name} ({name} INTEGER)")
        connection.execute("CREATE TABLE t (i INTEGER)")
        connection.execute(f"INSERT INTO {name} ({name}) VALUES (1)")
        connection.execute("INSERT INTO t VALUES (1)")
        rows = connection.execute(
            f"SELECT {column}, COUNT(*) FROM t JOIN {name} ON t.i = {column} WHERE {column} IN (1) "
            f"GROUP BY {column} ORDER BY {column}"
        ).fetchall()
    assert rows == [(1, 1)]


def test_a_name_that_needs_none_has_no_quotes() -> None:
    assert [word for word in ("year", "name", "Cast_Id", "from_", "date") if needs_quotes(word)] == []
    assert quote_column("weather.year") == "weather.year"
