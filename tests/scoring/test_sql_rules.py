"""Tests of each clause of the three rules, with small results."""

from __future__ import annotations

import random
import sqlite3
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.scoring.sql_rules import JUDGES, Rows, match_bags, match_lists

A, B = ("a", 1), ("b", 2)

# clause: gold, predicted, streambench, bird, test-suite (no ORDER BY), test-suite (ORDER BY in the gold)
CASES: dict[str, tuple[Rows, Rows, str, str, str, str]] = {
    "the same": ([A, B], [A, B], "correct", "correct", "correct", "correct"),
    "other order of rows": ([A, B], [B, A], "correct", "correct", "correct", "wrong"),
    "a row twice": ([A, B], [A, B, B], "correct", "correct", "wrong", "wrong"),
    "twice on both sides": ([A, A, B], [B, A, A], "correct", "correct", "correct", "wrong"),
    # Three rows each and equal sets, but the bags are {A: 2, B: 1} and {A: 1, B: 2}.
    "other counts": ([A, A, B], [A, B, B], "correct", "correct", "wrong", "wrong"),
    "columns swapped": ([A, B], [(1, "a"), (2, "b")], "wrong", "wrong", "correct", "correct"),
    "columns swapped in one row": ([A, B], [A, (2, "b")], "wrong", "wrong", "wrong", "wrong"),
    # Columns have equal values in other combinations: (1, 4) is in no gold row.
    "values paired otherwise": ([(1, 3), (2, 4)], [(1, 4), (2, 3)], "wrong", "wrong", "wrong", "wrong"),
    "a column more": ([A], [("a", 1, None)], "wrong", "wrong", "wrong", "wrong"),
    "a row missing": ([A, B], [A], "wrong", "wrong", "wrong", "wrong"),
    "NULL and NULL": ([(None,)], [(None,)], "correct", "correct", "correct", "correct"),
    "NULL and 0": ([(None,)], [(0,)], "wrong", "wrong", "wrong", "wrong"),
    "NULL and empty text": ([(None,)], [("",)], "wrong", "wrong", "wrong", "wrong"),
    "1 and 1.0": ([(1,)], [(1.0,)], "correct", "correct", "correct", "correct"),
    # Exact comparison, as in the published evaluations: 0.1 + 0.2 is 0.30000000000000004.
    "0.3 and 0.1 + 0.2": ([(0.3,)], [(0.1 + 0.2,)], "wrong", "wrong", "wrong", "wrong"),
    "text and number": ([("1",)], [(1,)], "wrong", "wrong", "wrong", "wrong"),
    "text and bytes": ([("a",)], [(b"a",)], "wrong", "wrong", "wrong", "wrong"),
    "upper case": ([("a",)], [("A",)], "wrong", "wrong", "wrong", "wrong"),
    "both empty": ([], [], "empty", "correct", "correct", "correct"),
    "gold empty": ([], [A], "empty", "wrong", "wrong", "wrong"),
    "prediction empty": ([A], [], "empty", "wrong", "wrong", "wrong"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_clause(name: str) -> None:
    gold, predicted, *expected = CASES[name]
    assert [
        JUDGES["streambench"](gold, predicted, False),
        JUDGES["bird"](gold, predicted, False),
        JUDGES["test-suite"](gold, predicted, False),
        JUDGES["test-suite"](gold, predicted, True),
    ] == expected


Cells = st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["", "x", "1"]), st.just(1.0))
Tables = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        *[st.lists(st.tuples(*[Cells] * width), min_size=rows, max_size=rows) for rows in (3, 3)]
    )
)


@given(Tables)
def test_columns_are_matched_as_by_trying_every_order(tables: tuple[Rows, Rows]) -> None:
    gold, predicted = tables
    orders = list(permutations(range(len(gold[0]))))
    tried = [[tuple(row[place] for place in order) for row in predicted] for order in orders]
    assert match_lists(gold, predicted) == any(list(gold) == rows for rows in tried)
    assert match_bags(gold, predicted) == any(
        sorted(map(repr, map(_plain, gold))) == sorted(map(repr, map(_plain, rows))) for rows in tried
    )


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(1 if cell == 1.0 else cell for cell in row)


def test_many_columns_do_not_mean_many_tries() -> None:
    rows = [tuple((row * (column + 3)) % 7 for column in range(40)) for row in range(50)]
    order = list(range(40))
    random.Random(1).shuffle(order)
    assert match_bags(rows, [tuple(row[place] for place in order) for row in reversed(rows)])
    flags = [tuple(int(row == column) for column in range(12)) for row in range(12)]
    assert match_bags(flags, [tuple(reversed(row)) for row in flags])


@given(st.lists(st.tuples(Cells, Cells), max_size=6), st.lists(st.tuples(Cells, Cells), max_size=6))
def test_python_and_sqlite_agree_on_sets(gold: Rows, predicted: Rows) -> None:
    # SQLite's own EXCEPT is another reading of "equal as sets", with the same NULL and 1 = 1.0.
    connection = sqlite3.connect(":memory:")
    for table, rows in (("gold", gold), ("predicted", predicted)):
        connection.execute(f"CREATE TABLE {table} (a, b)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
    differing = connection.execute(
        "SELECT * FROM (SELECT * FROM gold EXCEPT SELECT * FROM predicted) "
        "UNION ALL SELECT * FROM (SELECT * FROM predicted EXCEPT SELECT * FROM gold)"
    ).fetchall()
    assert JUDGES["bird"](gold, predicted, False) == ("wrong" if differing else "correct")
