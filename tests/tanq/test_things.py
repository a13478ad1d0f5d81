"""Tests of the sample's set: its classes of entities, and the filters of its questions."""

from collections import Counter

import pytest

from tasks.artifacts.parquet import read_rows
from tasks.tanq.build.tanq_item import TanqItem
from tests.tanq.chain import ROOT

ITEMS = ROOT / "data/tanq/sample/items.parquet"

pytestmark = pytest.mark.skipif(not ITEMS.is_file(), reason="`make reproduce` makes the sample")


def test_the_sample_has_sixty_questions_over_three_classes() -> None:
    nouns = Counter(item.noun for item in read_rows(ITEMS, TanqItem))
    assert nouns.total() == 60
    assert set(nouns) == {"countries", "cities", "chemical elements"}
    assert min(nouns.values()) >= 5


def test_every_filter_of_the_sample_leaves_a_choice() -> None:
    filters = 0
    for item in read_rows(ITEMS, TanqItem):
        place = {column.relation: number for number, column in enumerate(item.columns)}
        for use in item.skills:
            if use.name.startswith("filter"):
                kept = {row.cells[place[use.relation]].values for row in item.rows if row.filter_pass}
                assert len(kept) > 1, item.question
                assert not all(row.filter_pass for row in item.rows), item.question
                filters += 1
    assert filters > 20
