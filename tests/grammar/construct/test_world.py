"""Groups of a month of visits, held against the year that it is a part of."""

import json
import sqlite3
from pathlib import Path

import pytest

from tasks.artifacts.rows import make_id
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits
from tasks.errors import BadInput, StageFailed
from tasks.grammar.construct.world import find_other_answers
from tasks.grammar.rows import Group

LIMITS = QueryLimits()


def make_group(sql: str, rows: list[list[object]]) -> Group:
    return Group(make_id("group", sql), "template", sql, (), "answer", json.dumps(rows), ())


@pytest.fixture
def year(tmp_path: Path) -> DatabaseEntry:
    path = tmp_path / "year.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (day TEXT, doctor TEXT, fee REAL)")
        connection.executemany(
            "INSERT INTO visits VALUES (?, ?, ?)",
            [("01-05", "Ada", 0.1), ("01-06", "Ada", 0.2), ("01-06", "Bo", 0.3), ("07-01", "Ada", 9.5)],
        )
    connection.close()
    return DatabaseEntry(file=path)


def test_an_answer_that_holds_in_the_world_is_not_found(year: DatabaseEntry) -> None:
    groups = [
        make_group("SELECT DISTINCT fee FROM visits WHERE day = '01-05'", [[0.1]]),
        make_group("SELECT DISTINCT doctor FROM visits WHERE day = '01-06'", [["Bo"], ["Ada"]]),  # any order
        make_group("SELECT SUM(fee) FROM visits WHERE day < '02'", [[0.6000000000000001]]),  # ten digits
        make_group("SELECT DISTINCT fee FROM visits WHERE doctor = 'Cy'", []),
    ]
    assert list(find_other_answers(groups, year, LIMITS)) == []


def test_another_answer_is_found_with_its_rows(year: DatabaseEntry) -> None:
    fee = make_group("SELECT DISTINCT fee FROM visits WHERE doctor = 'Ada' ORDER BY fee", [[0.1]])
    count = make_group("SELECT COUNT(*) FROM visits WHERE doctor = 'Ada'", [[2]])
    gone = make_group("SELECT DISTINCT fee FROM visits WHERE doctor = 'Cy'", [[1.0]])
    typed = make_group("SELECT DISTINCT fee FROM visits WHERE day = '07-01'", [["9.5"]])
    assert list(find_other_answers([fee, count, gone, typed], year, LIMITS)) == [
        (fee.id, [(0.1,), (0.2,)]),  # one more than the answer has, and no further
        (count.id, [(3,)]),
        (gone.id, []),
        (typed.id, [(9.5,)]),
    ]


def test_a_world_without_the_tables_is_named(year: DatabaseEntry) -> None:
    with pytest.raises(BadInput, match=r"year\.sqlite: cannot answer group .*no such table: clinics"):
        list(find_other_answers([make_group("SELECT town FROM clinics", [])], year, LIMITS))


def test_a_query_without_end_fails_the_stage(year: DatabaseEntry) -> None:
    joins = " JOIN ".join(f"visits AS v{n}" for n in range(20))
    slow = make_group(f"SELECT COUNT(*) FROM {joins}", [[1]])
    with pytest.raises(StageFailed, match="did not end within"):
        list(find_other_answers([slow], year, QueryLimits(timeout_s=0.3)))
