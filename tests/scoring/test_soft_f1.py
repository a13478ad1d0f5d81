"""Tests of soft F1 for SQL results, on cases by hand and on databases."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.scoring.running import score_file
from tasks.scoring.soft_f1 import SoftF1
from tasks.scoring.sql_rules import judge_bird, measure_soft_f1

Cells = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["a", "b"]))
Results = st.lists(st.tuples(Cells, Cells), max_size=6)


@pytest.mark.parametrize(
    ("gold", "predicted", "soft_f1"),
    [
        ([], [], 1),
        ([], [(1,)], 0),
        ([(1,)], [], 0),
        ([(1, "a")], [(1, "a"), (1, "a")], 1),  # a row counts once
        ([(1, "a")], [("a", 1)], 1),  # in any order of the columns
        ([(1,), (2,)], [(2,), (1,)], 1),  # equal rows are matched
        # One of two cells: matched 1/2, one false positive and one false negative of 1/2 each.
        ([(1, "a")], [(1, "b")], 1 / 2),
        # A column too many: matched 2/2, false positive 1/2; F1 = 2 / (2 + 1/2).
        ([(1, "a")], [(1, "a", 9)], 4 / 5),
        # A column too few: matched 1/2, false negative 1/2; F1 = 1 / (1 + 1/2).
        ([(1, "a")], [(1,)], 2 / 3),
        # (1,) matches itself; the last gold row has no partner: matched 1, false negative 1.
        ([(1,), (2,)], [(1,)], 2 / 3),
        # The example of BIRD's page, where a missing cell is NULL: matched 1 + 1/2 + 1/2, false positives
        # 1/2 + 1/2, false negatives 1/2 + 1/2.
        (
            [("Apple", 325), ("Orange", None), ("Banana", 119)],
            [(325, "Apple"), (191, "Orange"), (None, "Banana")],
            2 / 3,
        ),
    ],
)
def test_cells_are_matched_within_pairs_of_rows(gold, predicted, soft_f1):
    assert measure_soft_f1(gold, predicted) == pytest.approx(soft_f1)


@given(Results, Results, st.randoms())
def test_a_right_result_is_1_and_no_result_is_more(gold, predicted, chance):
    found = measure_soft_f1(gold, predicted)
    assert 0 <= found <= 1
    if judge_bird(gold, predicted) == "correct":
        assert found == 1
    again = list(gold)
    chance.shuffle(again)
    assert measure_soft_f1(gold, [*again, *again]) == 1


def test_the_metric_reads_the_lines_of_execution(tmp_path: Path) -> None:
    place = tmp_path / "dbs/pets/pets.sqlite"
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE pets (name TEXT, age INTEGER)")
        connection.executemany("INSERT INTO pets VALUES (?, ?)", [("Rex", 4), ("Mia", 7)])
        connection.commit()
    gold = "SELECT name, age FROM pets"
    lines = [
        f'{{"id": {number}, "db_id": "pets", "gold": "{gold}", "prediction": {said}}}'
        for number, said in enumerate(
            ['"SELECT age, name FROM pets"', '"SELECT name FROM pets"', '"SELECT nothing"', "null"]
        )
    ]
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(lines))
    report = score_file(SoftF1(tmp_path / "dbs"), str(path))
    assert (report["metric"], report["n_scored"], report["n_failed"]) == ("soft-f1", 3, 1)
    # Both columns in reverse order; one of two columns; an error.
    assert report["soft_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)
