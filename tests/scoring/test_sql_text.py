from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.scoring.sql_text import (
    drop_distinct,
    has_order,
    join_operators,
    keep_first_statement,
    prepare_prediction,
)


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("SELECT 1", "SELECT 1"),
        ("  select 1  ", "select 1"),
        ("count(*) FROM t", "SELECT count(*) FROM t"),
        ("DISTINCT a FROM t", "SELECT DISTINCT a FROM t"),
        ("selected FROM t", "SELECT selected FROM t"),
        ("", "SELECT "),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x"),
        ("VALUES (1)", "VALUES (1)"),
        ("-- the query\n/* all */ SELECT 1", "-- the query\n/* all */ SELECT 1"),
        ("-- the query\n a FROM t", "SELECT -- the query\n a FROM t"),
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("```\nSELECT 1\n```", "SELECT 1"),
        ("```sqlite\r\nSELECT 1\r\n```", "SELECT 1"),
        ("```sql SELECT 1```", "SELECT 1"),
        ("```SELECT 1```", "SELECT 1"),
        ("Here it is:\n```SQL\na FROM t\n```\nIt counts.", "SELECT a FROM t"),
        ("```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", "SELECT 1"),
        ("```sql\nSELECT 1", "SELECT 1"),
        ("DELETE FROM t", "SELECT DELETE FROM t"),
    ],
)
def test_a_prediction_is_prepared(text: str, sql: str) -> None:
    assert prepare_prediction(text) == sql


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT DISTINCT a FROM t", "SELECT  a FROM t"),
        (
            "SELECT count(distinct a) FROM (SELECT Distinct b FROM t)",
            "SELECT count( a) FROM (SELECT  b FROM t)",
        ),
        ("SELECT 'distinct' FROM t -- distinct", "SELECT 'distinct' FROM t -- distinct"),
        ('SELECT "distinct" FROM t', 'SELECT "distinct" FROM t'),
        ("SELECT a IS NOT DISTINCT FROM b FROM t", "SELECT a IS NOT DISTINCT FROM b FROM t"),
        ("SELECT DISTINCT 'open", "SELECT DISTINCT 'open"),
    ],
)
def test_distinct_is_taken_out(sql: str, plain: str) -> None:
    assert drop_distinct(sql) == plain


@pytest.mark.parametrize(
    ("dialect", "sql", "plain"),
    [
        ("postgres", "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b", None),
        ("postgres", "SELECT distinct on(a) a FROM (SELECT DISTINCT a FROM t) s",
         "SELECT distinct on(a) a FROM (SELECT  a FROM t) s"),
        ("postgres", "SELECT $$ DISTINCT $$, E'it\\'s DISTINCT' FROM t", None),
        ("mysql", "SELECT COUNT(DISTINCT a, b) FROM t", None),
        ("mysql", "SELECT COUNT(DISTINCT IF(a, b, c)) FROM t", "SELECT COUNT( IF(a, b, c)) FROM t"),
        ("mysql", "SELECT DISTINCT 'it\\'s DISTINCT' FROM t", "SELECT  'it\\'s DISTINCT' FROM t"),
    ],
)  # fmt: skip
def test_distinct_stays_where_the_query_needs_it(dialect: str, sql: str, plain: str | None) -> None:
    assert drop_distinct(sql, dialect) == (sql if plain is None else plain)


GONE = ("count(DISTINCT a)", "(SELECT DISTINCT b FROM u)", "sum( DISTINCT a)")
"""Queries with a DISTINCT that is removed."""
KEPT = (
    "a IS DISTINCT FROM b", "a IS NOT DISTINCT FROM b", "'DISTINCT'", '"distinct"', "a /* DISTINCT */",
    "(SELECT DISTINCT ON (b) b FROM u)", "$$ DISTINCT $$", "'it''s DISTINCT'", "distinct_ones",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    first=st.sampled_from(["DISTINCT ON (a) ", "DISTINCT ", ""]),
    parts=st.lists(st.sampled_from([*GONE, *KEPT]), min_size=1, max_size=6),
    change=st.sampled_from([str, str.lower]),
)
def test_of_generated_queries_each_distinct_goes_or_stays_where_it_stands(first, parts, change):
    written = [change(part) if part in GONE else part for part in parts]
    plain = [change(part.replace("DISTINCT", "")) if part in GONE else part for part in parts]
    start = first.replace("DISTINCT ", " ") if first == "DISTINCT " else first
    sql, due = (
        f"SELECT {head}{', '.join(columns)} FROM t -- distinct"
        for head, columns in ((first, written), (start, plain))
    )
    assert drop_distinct(sql, "postgres") == due


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("select a from t order\n  by a", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY b LIMIT 1)", True),
        ("SELECT 'order by' FROM t", False),
        ("SELECT a FROM orders -- order by", False),
    ],
)
def test_order_by_is_seen(sql: str, ordered: bool) -> None:
    assert has_order(sql) is ordered


@pytest.mark.parametrize(
    ("sql", "joined"),
    [
        ("a > = 1 AND b < = 2 AND c ! = 3", "a >= 1 AND b <= 2 AND c != 3"),
        ("SELECT a FROM t WHERE a >= 1", "SELECT a FROM t WHERE a >= 1"),
        ("SELECT a FROM t WHERE a = 1", "SELECT a FROM t WHERE a = 1"),
    ],
)
def test_an_operator_in_two_parts_is_joined(sql: str, joined: str) -> None:
    assert join_operators(sql) == joined


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT 1;;", "SELECT 1;"),
        ("SELECT 1; SELECT 2", "SELECT 1;"),
        ("SELECT ';' AS x -- ;\n; DROP TABLE t", "SELECT ';' AS x -- ;\n;"),
        ("SELECT 1", "SELECT 1"),
        ("SELECT ';", "SELECT ';"),
    ],
)
def test_only_the_first_statement_counts(sql: str, first: str) -> None:
    assert keep_first_statement(sql) == first


def test_time_grows_with_the_text_and_no_faster() -> None:
    began = time.process_time()
    assert prepare_prediction("--\n" * 300_000 + "SELECT 1").startswith("--")
    assert drop_distinct("SELECT " + "DISTINCT " * 20_000 + "1").split() == ["SELECT", "1"]
    assert time.process_time() - began < 5
