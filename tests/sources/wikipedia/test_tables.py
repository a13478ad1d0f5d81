import pytest

from tasks.sources.wikipedia.pages import read_page


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        # Equal texts are not a cell that spans all columns.
        (
            "! Name !! Seat\n|-\n| Cork || Cork",
            [(1, 0, "", "Name", "Cork"), (1, 1, "Cork", "Seat", "Cork")],
        ),
        ("! Name !! Seat\n|-\n| colspan=2 | Cork", [(1, 0, "", "", "Cork")]),
        # The corner is empty, as a header or as a cell.
        (
            "!\n! Population\n|-\n! Dublin\n| 500",
            [(1, 0, "", "", "Dublin"), (1, 1, "Dublin", "Population", "500")],
        ),
        (
            "|\n! Population\n! Area\n|-\n! Dublin\n| 500 || 8",
            [(1, 0, "", "", "Dublin"), (1, 1, "Dublin", "Population", "500"), (1, 2, "Dublin", "Area", "8")],
        ),
        # A row with empty cells is not a header.
        (
            "! Rank !! City !! People\n|-\n! 1 !! Dublin\n|\n|-\n! 2 !! Cork\n| 9",
            [
                (1, 0, "", "Rank", "1"), (1, 1, "", "City", "Dublin"),
                (2, 0, "", "Rank", "2"), (2, 1, "", "City", "Cork"), (2, 2, "2 / Cork", "People", "9"),
            ],
        ),
        (
            "! Land !! City !! People\n|-\n! UK\n| London || 67",
            [(1, 0, "", "Land", "UK"), (1, 1, "UK", "City", "London"), (1, 2, "UK / London", "People", "67")],
        ),
        # A single header cell in a row of a wider table is not a new header row.
        (
            "! Name !! Seat\n|-\n! 1990\n|-\n| Cork || 5",
            [(1, 0, "", "Name", "1990"), (2, 0, "", "Name", "Cork"), (2, 1, "Cork", "Seat", "5")],
        ),
    ],
)  # fmt: skip
def test_cells_have_the_headers_that_stand_over_and_beside_them(table, cells):
    parts = read_page("{|\n" + table + "\n|}").parts
    assert [(part.row, part.column, *part.headers, part.text) for part in parts] == cells
