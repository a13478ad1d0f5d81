"""Tests of reading a user's file: valid rows become items, and each invalid row gives one line."""

import gzip
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.errors import BadInput
from tasks.systems.own_items import ItemReader, OwnItems, fill_row, read_items, sample_groups


@dataclass(frozen=True)
class Question:
    id: str
    question: str
    group: str
    origin: tuple[Origin, ...]
    answer: str = "none"
    marks: tuple[str, ...] = ()


READER = ItemReader(lambda record, source: fill_row(Question, record, source), row=Question, page="docs/x.md")


def read(path: Path) -> OwnItems[Question]:
    return read_items(path, READER)


def write_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_each_row_that_is_none_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    broken = {
        "{broken": "is not valid JSON: ",
        "[1]": "is a list; expected a JSON object",
        "[" * 500: "is ",
        '{"id": "x", "question": "\\ud800"}': "is not valid JSON: ",
        '{"id": "x"}': "question is missing; expected text",
        '{"question": "  "}': "question is empty",
        '{"question": true}': "question is true or false; expected text",
        json.dumps({"question": "x" * 100_001}): "question has more than 100,000 characters",
        '{"question": "x", "id": ["a"]}': "id is a list; expected text",
        '{"question": "x", "id": " "}': "id is empty",
        '{"question": "x", "marks": "a"}': "marks: Input should be a valid tuple",
        '{"question": "x", "id": "one"}': "repeats the id of line 2",
    }
    good = {"id": 7, "question": " a\0 ", "marks": ["b"], "answer": 5}
    path = write_lines(
        tmp_path / "mine.jsonl", good, {"id": "one", "question": "b", "group": "g"}, "", *broken
    )
    found = read(path)
    seventh, first = found.items
    assert seventh == Question("7", "a", "7", (Origin("file", "mine.jsonl, line 1"),), "5", ("b",))
    assert (first.id, first.group, first.answer) == ("one", "g", "none")
    assert len(found.problems) == len(broken)
    for number, (problem, said) in enumerate(zip(found.problems, broken.values(), strict=True), 4):
        assert problem.startswith(f"mine.jsonl, line {number}: {said}")
        assert len(problem) < 200


def test_an_id_is_a_hash_of_what_is_asked(tmp_path: Path) -> None:
    asked = {"question": "a"}
    first = read(write_lines(tmp_path / "1.jsonl", asked, {"question": "b"}))
    other = read(write_lines(tmp_path / "2.jsonl", {"question": "b"}, asked))
    assert [item.id for item in first.items] == [item.id for item in other.items]
    twice = read(write_lines(tmp_path / "twice.jsonl", asked, asked))
    assert twice.problems == ("twice.jsonl, line 2: repeats the id of line 1",)


def test_gzip_and_parquet_hold_the_same_items(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "1", "group": "g", "marks": ["x"]},
        {"id": "b", "question": "2", "group": None},
    ]
    plain = write_lines(tmp_path / "q.jsonl", *rows)
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "q.parquet")
    plain_items, *others = (
        [replace(item, origin=()) for item in read(tmp_path / name).items]
        for name in ("q.jsonl", "q.jsonl.gz", "q.parquet")
    )
    assert all(items == plain_items for items in others)
    pq.write_table(pa.table({"question": ["a?", None]}), tmp_path / "q.parquet")
    assert read(tmp_path / "q.parquet").problems == ("q.parquet, row 2: question is missing; expected text",)


def test_rows_of_the_flow_are_taken_as_they_are(tmp_path: Path) -> None:
    items = [Question("a", " q ", "g", (Origin("row", "x#1"),), "", ("m",))]
    write_rows(tmp_path / "items.parquet", Question, items)
    assert list(read(tmp_path).items) == items


@pytest.mark.parametrize("name", ["q.jsonl", "q.jsonl.gz", "q.parquet"])
@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01", b"PAR1", b"\x1f\x8b\x08rest", b"null\n", b"\xff\xfea\x00"]
)
def test_what_holds_no_item_is_one_line(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput) as told:
        read(tmp_path / name)
    assert "\n" not in str(told.value)


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file or folder"):
        read(tmp_path / "none")
    with pytest.raises(BadInput, match=r"has no items\.parquet and no items\.jsonl"):
        read(tmp_path)
    write_lines(tmp_path / "items.jsonl", "{")
    with pytest.raises(BadInput, match=r"contains no usable item \(items\.jsonl, line 1: is not valid JSON"):
        read(tmp_path)


def test_a_file_s_name_that_is_no_text_is_no_hindrance(tmp_path: Path) -> None:
    found = read(write_lines(tmp_path / "q\udcff.jsonl", {"question": "a"}, "{"))
    assert found.problems[0].startswith("q\ufffd.jsonl, line 2: is not valid JSON")
    found.items[0].origin[0].reference.encode()


@settings(max_examples=50)
@given(st.permutations([(f"q{n}", f"g{n // 2}") for n in range(12)]), st.integers(1, 8))
def test_the_groups_that_are_taken_do_not_hang_on_the_order(pairs: list[tuple[str, str]], limit: int) -> None:
    def ask(order: list[tuple[str, str]]) -> list[Question]:
        return [Question(name, "?", group, ()) for name, group in order]

    taken = sample_groups(ask(pairs), limit, 0)
    assert {item.id for item in taken} == {item.id for item in sample_groups(ask(sorted(pairs)), limit, 0)}
    assert len({item.group for item in taken}) == min(limit, 6)
    assert len(taken) == 2 * min(limit, 6), "a group is taken whole"
