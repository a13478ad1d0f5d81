"""Tests of Parquet artifacts: rows round-trip in batches, and an error names a damaged file."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import BATCH, StoredRows, read_rows, read_valid_rows, write_rows
from tasks.artifacts.rows import Origin, make_id, schema_of
from tasks.errors import BadInput


@dataclass(frozen=True)
class Item:
    id: str
    number: int | None
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Other:
    id: str


@pytest.fixture
def stored(tmp_path) -> tuple[Path, list[Item]]:
    items = [
        Item(make_id(n), n if n % 3 else None, (Origin("row", f"stem#{n}"),)) for n in range(2 * BATCH + 5)
    ]
    path = tmp_path / "items.parquet"
    write_rows(path, Item, items)
    return path, sorted(items, key=lambda item: item.id)


def test_rows_of_several_batches_come_back_in_order_as_often_as_asked(stored):
    path, items = stored
    rows = StoredRows(path, Item)
    assert len(rows) == len(items)
    assert list(rows) == items
    assert list(rows) == items
    assert read_rows(path, Item) == items


@pytest.mark.parametrize("limit", [0, 1, BATCH, BATCH + 1, 10 * BATCH])
def test_a_preview_takes_the_first_rows(stored, limit):
    path, items = stored
    rows = StoredRows(path, Item, limit)
    assert list(rows) == items[:limit]
    assert len(rows) == len(items[:limit])


@pytest.mark.parametrize("group", [100, BATCH, 10 * BATCH])
@pytest.mark.parametrize("limit", [None, 1_000])
def test_a_slice_is_what_the_rows_in_memory_have_there(stored, tmp_path, group, limit):
    path, items = stored
    pq.write_table(pq.read_table(path), tmp_path / "grouped.parquet", row_group_size=group)
    rows = StoredRows(tmp_path / "grouped.parquet", Item, limit)
    for part in (slice(0, 500), slice(90, 310), slice(0, 0), slice(900, 1_100), slice(8_100, 9_000)):
        assert rows[part] == items[:limit][part]
    assert rows[:] == list(rows)


def test_a_cell_in_a_slice_that_no_row_may_have_is_named_by_its_row(stored, tmp_path):
    table = pq.read_table(stored[0]).slice(0, 10)
    ids = pa.array([*table["id"].to_pylist()[:8], None, "z"], pa.string())
    pq.write_table(table.set_column(0, "id", ids), tmp_path / "a.parquet")
    rows = StoredRows(tmp_path / "a.parquet", Item)
    assert len(rows[:8]) == 8
    with pytest.raises(BadInput, match=r"a\.parquet: row 9, id: Input should be a valid string"):
        rows[5:]


def test_other_columns_are_named_before_a_row_is_read(stored):
    with pytest.raises(BadInput, match=r"items.parquet: has the columns id, number, origin, not id"):
        StoredRows(stored[0], Other)


def test_a_file_that_is_spoilt_in_the_middle_is_named(stored):
    path, _ = stored
    data = bytearray(path.read_bytes())
    data[4:2_000] = bytes(1_996)
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"items.parquet: cannot be read as Parquet"):
        list(StoredRows(path, Item))
    with pytest.raises(BadInput, match=r"items.parquet: cannot be read as Parquet"):
        StoredRows(path, Item)[:5]


def test_what_is_no_parquet_or_is_not_there_is_named(tmp_path):
    (tmp_path / "a.parquet").write_text("no")
    for name in ("a", "b"):
        with pytest.raises(BadInput, match=rf"{name}.parquet: cannot be read as Parquet"):
            StoredRows(tmp_path / f"{name}.parquet", Item)


def test_a_cell_that_no_row_may_have_is_named(tmp_path):
    path = tmp_path / "items.parquet"
    origin = pa.array([[]], schema_of(Item).field("origin").type)
    pq.write_table(pa.table({"id": pa.array([None], pa.string()), "number": [1], "origin": origin}), path)
    with pytest.raises(BadInput, match=r"items\.parquet: row 1, id: Input should be a valid string") as error:
        read_rows(path, Item)
    assert "\n" not in str(error.value)
    assert "http" not in str(error.value)


def test_rows_with_such_a_cell_can_be_passed_over(tmp_path):
    path = tmp_path / "items.parquet"
    origin = pa.array([[], [], []], schema_of(Item).field("origin").type)
    ids = pa.array(["a", None, "c"], pa.string())
    pq.write_table(pa.table({"id": ids, "number": [1, 2, 3], "origin": origin}), path)
    assert [row.id for row in read_valid_rows(path, Item)] == ["a", "c"]
