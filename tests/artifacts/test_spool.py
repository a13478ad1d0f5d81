"""Tests that rows that exceed memory are sorted on disk, with the same bytes as in memory."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.artifacts.parquet import ROW_GROUP, write_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.artifacts.spool import MERGED, Spool


@dataclass(frozen=True)
class Item:
    id: str
    number: int
    origin: tuple[Origin, ...]


def make_items(count: int) -> list[Item]:
    items = [Item(make_id(n), n, (Origin("row", f"stem#{n}"),)) for n in range(count)]
    random.Random(0).shuffle(items)
    return items


def fill(items: list[Item], run: int) -> Spool[Item]:
    spool: Spool[Item] = Spool(run)
    for item in items:
        spool.add(item)
    return spool


def add_and_fail(spool: Spool[Item], items: list[Item]) -> None:
    for item in items:
        spool.add(item)
    raise StopIteration


@pytest.mark.parametrize("run", [1, 7, 100, 1_000])
def test_rows_come_out_by_id_as_often_as_asked(run):
    items = make_items(700)
    spool = fill(items, run)
    expected = sorted(items, key=lambda item: item.id)
    assert list(spool) == expected
    assert list(spool) == expected
    assert len(spool) == 700
    assert spool[0] == expected[0]
    assert spool == fill(expected, 1_000)


def test_an_error_takes_back_what_was_added_together_and_nothing_else(tmp_path):
    first, second, third = make_items(10)[:3], make_items(60)[10:40], make_items(80)[60:70]
    spool = fill(first, 4)
    with pytest.raises(StopIteration), spool.all_or_none():
        add_and_fail(spool, second)
    with spool.all_or_none():
        for item in third:
            spool.add(item)
    assert list(spool) == sorted([*first, *third], key=lambda item: item.id)
    assert len(spool) == 13


def test_runs_are_merged_before_they_are_more_files_than_can_be_open():
    items = make_items(MERGED * MERGED + 2 * MERGED + 3)
    spool = fill(items, 1)
    assert spool._folder is not None
    # One file that was merged twice, two files that were merged once, and three unmerged files.
    assert len(list(Path(spool._folder.name).iterdir())) == 1 + 2 + 3
    assert list(spool) == sorted(items, key=lambda item: item.id)


def test_merged_runs_are_taken_back_and_those_before_are_kept():
    items = make_items(4 * MERGED)
    first, second, third = items[: MERGED - 1], items[MERGED - 1 : 3 * MERGED], items[3 * MERGED :]
    spool = fill(first, 1)
    with pytest.raises(StopIteration), spool.all_or_none():
        add_and_fail(spool, second)
    assert list(spool) == sorted(first, key=lambda item: item.id)
    with spool.all_or_none():
        for item in third:
            spool.add(item)
    spool.add(second[0])
    assert list(spool) == sorted([*first, *third, second[0]], key=lambda item: item.id)
    assert spool._folder is not None
    assert len(list(Path(spool._folder.name).iterdir())) == 2


def test_its_files_go_with_it():
    spool = fill(make_items(50), 10)
    assert spool._folder is not None
    folder = Path(spool._folder.name)
    assert len(list(folder.iterdir())) == 5
    del spool
    assert not folder.exists()


def test_bytes_do_not_hang_on_where_the_rows_were(tmp_path):
    items = make_items(ROW_GROUP + 1_000)
    write_rows(tmp_path / "memory.parquet", Item, items)
    write_rows(tmp_path / "spool.parquet", Item, fill(items, 20_000))
    assert (tmp_path / "memory.parquet").read_bytes() == (tmp_path / "spool.parquet").read_bytes()


def test_two_rows_of_one_id_are_refused_across_runs(tmp_path):
    items = make_items(30)
    with pytest.raises(ValueError, match=f"two rows have the id {items[0].id}"):
        write_rows(tmp_path / "x.parquet", Item, fill([*items, items[0]], 10))
