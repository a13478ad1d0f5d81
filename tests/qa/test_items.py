"""Tests of reading a user's table as items: all file formats, other column names, invalid files."""

import csv
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput
from tasks.qa.columns import QaColumns
from tasks.qa.entries import QaSet
from tasks.qa.items import QaItem, items, read_table

ROWS = [
    {"id": "a", "question": "Who leads Orbis?", "answer": ["Marta Quill", "M. Quill"], "tags": ["people"]},
    {"id": "b", "question": "How many?", "answer": ["12"], "tags": ["numbers", "easy"]},
]
USUAL = QaColumns()


def save(folder, kind, rows=ROWS):
    path = folder / f"my.{kind}"
    if kind in ("csv", "tsv"):
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter="," if kind == "csv" else "\t")
            writer.writerow(rows[0])
            writer.writerows(
                [value if isinstance(value, str) else json.dumps(value) for value in row.values()]
                for row in rows
            )
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "folder":
        datasets.Dataset.from_list(rows).save_to_disk(path, num_shards=2)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "folder"])
def test_every_kind_of_file_gives_the_same_items(tmp_path, kind):
    table = read_table(save(tmp_path, kind), USUAL)
    assert (table.found.problems, list(table.notes)) == ((), [])
    found = [
        (item.id, item.group, item.question, item.reference, item.tags, item.contexts)
        for item in table.found.items
    ]
    assert found == [
        ("a", "a", "Who leads Orbis?", "Marta Quill | M. Quill", ("people",), ()),
        ("b", "b", "How many?", "12", ("numbers", "easy"), ()),
    ]
    word = {"parquet": "row", "folder": "row"}.get(kind, "line")
    first = 2 if kind in ("csv", "tsv") else 1
    assert table.found.items[0].origin[0].reference == f"my.{kind}, {word} {first}"


def test_items_that_were_written_are_read_again(tmp_path):
    kept = read_table(save(tmp_path, "jsonl"), USUAL).found.items
    write_rows(tmp_path / "items.parquet", QaItem, kept)
    assert read_table(tmp_path / "items.parquet", USUAL).found.items == kept


def test_a_folder_of_several_splits_is_refused_and_a_single_one_is_taken(tmp_path):
    rows = datasets.Dataset.from_list(ROWS)
    datasets.DatasetDict({"test": rows}).save_to_disk(tmp_path / "one")
    assert len(read_table(tmp_path / "one", USUAL).found.items) == 2
    datasets.DatasetDict({"test": rows, "train": rows}).save_to_disk(tmp_path / "two")
    with pytest.raises(
        BadInput, match=r"contains several tables: test, train \(name one file, such as .*two/test\)"
    ):
        read_table(tmp_path / "two", USUAL)


def test_columns_of_other_names_are_guessed_and_said_or_given(tmp_path):
    rows = [{"Prompt": "Who?", "expected": "Ada", "category": "people", "prediction": "Bob"}]
    path = save(tmp_path, "csv", rows)
    table = read_table(path, USUAL)
    (item,) = table.found.items
    assert (item.question, item.reference, item.tags) == ("Who?", "Ada", ("people",))
    assert list(table.notes) == [
        "the column 'Prompt' is read as question (--question COLUMN names another)",
        "the column 'expected' is read as answer (--answer COLUMN names another)",
        "the column 'category' is read as tags (--tags COLUMN names another)",
    ]
    table = read_table(path, QaColumns(question="expected", answer="prediction", tags=""))
    (item,) = table.found.items
    assert (item.question, item.reference, item.tags) == ("Ada", "Bob", ())
    assert not table.notes


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (QaColumns(question="promt"), r"has no column promt; it has Prompt, right \(did you mean Prompt\?\)"),
        (
            QaColumns(answer="right", tags="x"),
            r"has no column x; it has Prompt, right \(name the column with --tags COLUMN",
        ),
        (
            USUAL,
            r"has no column that could be the answer; .* \(name the column with --answer COLUMN\)",
        ),
    ],
)
def test_a_column_that_is_not_there_is_one_line(tmp_path, columns, said):
    path = save(tmp_path, "csv", [{"Prompt": "Who?", "right": "Ada"}])
    with pytest.raises(BadInput, match=said):
        read_table(path, columns)


BROKEN = [
    ("{nope", "is not valid JSON: "),
    ("[1]", "is a list; expected a JSON object"),
    ('{"answer": "x"}', "question is missing"),
    ('{"question": "q"}', "answer is missing"),
    ('{"question": "q", "answer": []}', "answer is an empty list"),
    ('{"id": "a", "question": "other", "answer": "x"}', "repeats the id of line 1"),
    ('{"question": "q", "answer": "x", "tags": [["x"]]}', "tags is a list; expected text"),
    ('{"question": ["q"], "answer": "x"}', "question is a list; expected text"),
]


def test_a_row_that_cannot_be_asked_is_named_by_its_line_and_dropped_in_a_run(tmp_path):
    path = tmp_path / "my.jsonl"
    path.write_text("\n".join([*map(json.dumps, ROWS), *(line for line, _ in BROKEN)]))
    drafts = items(QaSet(file=path))
    assert [item.id for item in drafts.rows] == ["a", "b"]
    details = [row.detail for row in drafts.dropped]
    assert len(details) == len({row.id for row in drafts.dropped}) == len(BROKEN)
    for place, (detail, (_, said)) in enumerate(zip(details, BROKEN, strict=True), 3):
        assert detail.startswith(f"my.jsonl, line {place}: {said}")


def test_rows_of_a_csv_are_named_by_their_line_also_below_a_cell_of_two_lines(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text('question,answer\n"two\nlines",x\nq,\nq,x,y\nlast,x\n')
    found = read_table(path, USUAL).found
    assert [item.question for item in found.items if item.question != "last"] == ["two\nlines"]
    assert found.problems == (
        "my.csv, line 4: answer is missing; expected text",
        "my.csv, line 5: has 3 cells, but the header has 2",
    )


def test_ids_are_hashes_of_the_content_where_there_are_none(tmp_path):
    rows = [{"question": "q", "answer": answer, "group": "g"} for answer in ("x", "y", "x")]
    found = read_table(save(tmp_path, "jsonl", rows), USUAL).found
    assert len({item.id for item in found.items}) == 2
    assert {item.group for item in found.items} == {"g"}
    assert found.problems == ("my.jsonl, line 3: repeats the id of line 1",)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("my.jsonl", b"", "contains no usable item"),
        ("my.csv", b"question,answer\n", "contains no usable item"),
        ("my.parquet", b"PAR1 and no more", "contains no usable item"),
        ("folder/state.json", b"{}", "contains no .arrow file"),
        ("folder/notes.txt", b"", "contains no table of questions"),
    ],
)
def test_a_table_without_rows_is_one_line(tmp_path, name, content, said):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(BadInput, match=said) as caught:
        read_table(tmp_path / name.partition("/")[0], USUAL)
    assert "\n" not in str(caught.value)


def test_a_broken_or_selected_folder_is_named_and_not_taken_for_whole(tmp_path):
    folder = save(tmp_path, "folder")
    (folder / "data-00001-of-00002.arrow").write_bytes(b"not arrow")
    found = read_table(folder, USUAL).found
    assert len(found.items) == 1
    assert "row 2: data-00001-of-00002.arrow: this row and all later rows cannot be read" in found.problems[0]
    (folder / "state.json").write_text('{"_indices_data_files": ["x"]}')
    with pytest.raises(BadInput, match="selects rows by index"):
        read_table(folder, USUAL)
    (folder / "state.json").write_text("[")
    with pytest.raises(BadInput, match="cannot be read as JSON"):
        read_table(folder, USUAL)


def test_rows_survive_parquet(tmp_path):
    kept = read_table(save(tmp_path, "csv"), USUAL).found.items
    write_rows(tmp_path / "x.parquet", QaItem, kept)
    assert tuple(read_rows(tmp_path / "x.parquet", QaItem)) == kept
