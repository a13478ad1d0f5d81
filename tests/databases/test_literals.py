from __future__ import annotations

import sqlite3

import pytest

from tasks.databases.literals import split_literals


@pytest.mark.parametrize(
    ("sql", "statement", "values"),
    [
        ("SELECT a FROM t WHERE a = 'O''Hare'", "SELECT a FROM t WHERE a = ?", ("O'Hare",)),
        ("SELECT a FROM t WHERE a = -5 AND b > 2.5", "SELECT a FROM t WHERE a = ? AND b > ?", (-5, 2.5)),
        (
            "SELECT a FROM t WHERE a BETWEEN '2013-01-01' AND '2013-01-07'",
            "SELECT a FROM t WHERE a BETWEEN ? AND ?",
            ("2013-01-01", "2013-01-07"),
        ),
        # Values in a quoted name, in another value, or without a preceding operator do not change.
        ('SELECT "= 5" FROM t ORDER BY 1 LIMIT 3', 'SELECT "= 5" FROM t ORDER BY 1 LIMIT 3', ()),
        ("SELECT ROUND(a, 2) FROM t WHERE a = 'b = 5'", "SELECT ROUND(a, 2) FROM t WHERE a = ?", ("b = 5",)),
        ("SELECT 'x = 1' FROM t", "SELECT 'x = 1' FROM t", ()),
        ("SELECT a FROM t JOIN u ON t.a = u.a", "SELECT a FROM t JOIN u ON t.a = u.a", ()),
        (
            "SELECT a FROM t WHERE a = 9223372036854775808",
            "SELECT a FROM t WHERE a = 9223372036854775808",
            (),
        ),
        ("SELECT a FROM t WHERE a = 1e3", "SELECT a FROM t WHERE a = ?", (1000.0,)),
    ],
)
def test_values_beside_operators_are_taken_out(sql: str, statement: str, values: tuple[object, ...]) -> None:
    assert split_literals(sql) == (statement, values)


@pytest.mark.parametrize("literal", ["'5'", "5", "5.0", "'five'", "-1"])
@pytest.mark.parametrize("column", ["n", "t", "r", "b"])
def test_a_bound_value_is_compared_as_its_literal(column: str, literal: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE x (n INTEGER, t TEXT, r REAL, b)")
    connection.executemany(
        "INSERT INTO x VALUES (?, ?, ?, ?)", [(5, "5", 5.0, 5), (-1, "five", -1.0, "5"), (0, "5.0", 0.5, 5.0)]
    )
    sql = f"SELECT rowid FROM x WHERE {column} = {literal} ORDER BY 1"
    assert connection.execute(*split_literals(sql)).fetchall() == connection.execute(sql).fetchall()
