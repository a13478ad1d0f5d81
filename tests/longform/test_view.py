"""Tests of the blocks that the item viewer shows for a question."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.longform.view import show_items, view_questions
from tasks.reports.blocks import GOOD, OFF, Block
from tests.longform.scripted_judges import make_item
from tests.longform.test_page import make_rows

ROWS = make_rows()
SHOWN = show_items(ROWS["items"], ROWS["control"], ROWS["construct"], ROWS["conclude"])
ARTIFACT = Path("interactions.parquet")


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield all blocks in order, including blocks inside folds and groups."""
    for block in blocks:
        yield block
        if block[0] in ("fold", "group"):
            inside: Any = block[-1]
            yield from walk(inside)


def find(blocks: Sequence[Block], kind: str) -> list[Any]:
    return [block[1:] for block in walk(blocks) if block[0] == kind]


@pytest.fixture(scope="module")
def items() -> dict[str, list[Block]]:
    return SHOWN


def test_an_item_has_its_whole_database_and_its_evidence(items: dict[str, list[Block]]) -> None:
    tables = {fold[0]: fold[-1] for fold in find(items["i1"], "fold") if fold[3] == "rows"}
    assert tables["keepers"][0][1:4] == (
        ["keeper_id", "island"],
        [[1, "Skarholm"], [2, "Ruvay"], [3, "Ruvay"], [4, "Overmere"]],
        4,
    )
    assert tables["shifts"][0][2] == [["1", 14]]
    told, claim = (fold for fold in find(items["i1"], "fold") if fold[3] == "claim")
    assert told[0] == "Question before condensing"
    assert claim[-1][0][1] == "SELECT 28"
    assert claim[-1][1][1:] == (["ships"], [[28]], 1, "")
    assert find(items["i1"], "list")[0][0] == [
        ["Higher average number of ships", "matches the conjecture", GOOD]
    ]
    assert "2 tables, 5 rows; generating the rows took 2 model requests." in str(items["i1"])
    assert ("head", "Reference answer", [("written by code", OFF)]) in items["i1"]


def test_an_item_of_unknown_making_is_shown_without(items: dict[str, list[Block]]) -> None:
    assert "Question before condensing" not in str(items["i2"])
    assert ("head", "Reference answer", []) in items["i2"]
    assert "model request" not in str(items["i2"])
    assert "The conjecture of this database is not known." in str(items["i2"])
    assert "No query supports this answer." in str(items["i2"])


def test_numbers_that_no_script_holds_are_shown_as_text() -> None:
    script = f"CREATE TABLE t (a REAL); INSERT INTO t VALUES (9e999), (NULL), ({2**60});"
    (shown,) = show_items([make_item(1, script=script)], [], [], []).values()
    (fold,) = (fold for fold in find(shown, "fold") if fold[3] == "rows")
    assert fold[-1][0][2] == [["inf"], [None], [2.0**60]]


def test_questions_are_listed_by_database_with_their_filters() -> None:
    viewer = view_questions(ROWS["items"], SHOWN, ROWS["conclude"], {"i1": ["c1"]}, Path("items.parquet"))
    assert [(row.id, tuple(row.values)) for row in viewer.rows] == [
        ("i2", ("harbours", "interpretive", "model")),
        ("i1", ("lights", "conclusive", "model")),
    ]
    assert viewer.rows[1].tags == [("conclusive", ""), ("lights", OFF), ("written by code", OFF)]
    assert [find(row.blocks, "calls")[0][1] for row in viewer.rows] == [[], ["c1"]]
