"""Tests that PostgreSQL may run collecting aggregates only over the rows of one table."""

from __future__ import annotations

import pytest

from tasks.databases.checking import check_select
from tasks.errors import SqlRefused

ALLOWED = """
SELECT array_agg(title ORDER BY id) FROM books
SELECT maker, string_agg(first || ' ' || last, ', ') FROM books b GROUP BY maker
SELECT count(*) FROM (SELECT array_agg(DISTINCT title) AS t FROM books GROUP BY maker) s
WITH w AS (SELECT string_agg(title, ',') AS t FROM books) SELECT t FROM w, makers
SELECT string_agg(title, ',') FROM books UNION SELECT string_agg(name, ',') FROM makers
SELECT array_to_string(tags, ', ', '-') FROM books
SELECT string_agg(title, ',') FILTER (WHERE id > 3) FROM books
"""
REFUSED = """
SELECT array_agg(a.title) FROM books a, books b
SELECT string_agg(a.title, '') FROM books a JOIN books b ON true
SELECT (SELECT array_agg(a.title) FROM makers) FROM books a, books b, books c
SELECT (SELECT t FROM (SELECT array_agg(a.title) AS t FROM makers) s) FROM books a, books b
SELECT 1 FROM books a JOIN books b ON (SELECT bool_and(true) FROM (SELECT array_agg(a.title) FROM makers) s)
SELECT 1 FROM books a, books b, LATERAL (SELECT array_agg(a.title) FROM makers) s
WITH w AS (SELECT a.title FROM books a, books b) SELECT array_agg(title) FROM w
SELECT array_agg(title) FROM (SELECT a.title FROM books a, books b) s
SELECT array_agg(title) FROM books, unnest(tags) AS t
SELECT array_agg(title) OVER () FROM books
SELECT string_agg(title, 'a separator of more than twenty letters') FROM books
SELECT array_agg('a constant of more than twenty letters') FROM books
SELECT string_agg(title || title || title || title || title || title, ',') FROM books
SELECT array_agg((SELECT title FROM books LIMIT 1)) FROM books
SELECT array_to_string(tags, title) FROM books
SELECT array_agg(title)
SELECT array_agg(n) FROM generate_series(1, 1000000000) AS n
"""


@pytest.mark.parametrize("sql", ALLOWED.strip().splitlines())
def test_what_stays_as_large_as_a_table_is_allowed(sql: str) -> None:
    check_select(sql, "postgres")


@pytest.mark.parametrize("sql", REFUSED.strip().splitlines())
def test_what_may_grow_with_a_product_of_tables_is_refused(sql: str) -> None:
    with pytest.raises(SqlRefused, match=r"is allowed only|separator|is not allowed"):
        check_select(sql, "postgres")


def test_bytes_written_as_hex_count_as_twice_as_long() -> None:
    check_select("SELECT encode(cover, 'hex') FROM books", "postgres")
    nested = "cover"
    for _ in range(12):
        nested = f"encode(CAST({nested} AS bytea), 'hex')"
    with pytest.raises(SqlRefused, match="concatenate too many strings"):
        check_select(f"SELECT {nested} FROM books", "postgres")
