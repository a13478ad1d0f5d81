"""Tests of the database sizes in table 1: medians over tables."""

from types import SimpleNamespace
from typing import Any

import pytest

from tasks.longform.publish.statistics import _measure_databases
from tests.longform.scripted_evaluation import write_script


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        # 2 and 20 columns, 0 and 6 rows: the medians are 11 and 3.
        ([[(2, 0), (20, 6)]], {"tables": 2, "all_tables": 2, "columns_per_table": 11, "rows_per_table": 3}),
        # Columns 2, 2, 2, 20: median 2, while the databases' means are 2 and 8. Rows 1, 1, 4, 9: 2.5.
        (
            [[(2, 1)], [(2, 1), (2, 4), (20, 9)]],
            {"tables": 2, "all_tables": 4, "columns_per_table": 2, "rows_per_table": 2.5},
        ),
        ([], {"tables": None, "all_tables": 0, "columns_per_table": None, "rows_per_table": None}),
    ],
)
def test_medians_are_over_the_tables_of_all_databases(shapes: Any, expected: dict[str, float]) -> None:
    made: list[Any] = [SimpleNamespace(script=write_script(shape)) for shape in shapes]
    assert _measure_databases(made) == expected
