"""Tests of people's tables and hallucination labels: reading files, and errors per line."""

import csv
import io
from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.errors import BadInput
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.score.hallucination_labels import hallucination_labels, make_label_form
from tasks.tanq.score.human_scores import human_scores
from tasks.tanq.score.human_tables import human_tables, make_table_form
from tests.tanq.scored_items import make_item, make_prediction, make_proof

ITEMS = [make_item("i1"), make_item("i2")]
TABLE = "entity|capital\nRuvay|Port Ruvay\nSkarholm|Skar"
PREDICTIONS = [
    make_prediction("i1", reply="=SUM(1) Ruvay"),
    make_prediction("i2", None, reply="", failed="not asked"),
]


def write(folder: Path, *lines: tuple[str, ...]) -> Path:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    path = folder / "people.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def name_file(field: str, path: Path) -> TableEvaluation:
    return TableEvaluation(set="sample").model_copy(update={field: path})


def test_tables_of_people_are_predictions(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        ("id", "question", "table", "rater"),
        ("i1", "?", TABLE, "ann"),
        ("i1", "?", f"'| {TABLE}", "ben"),
        ("i2", "?", " ", "ann"),
        ("i9", "?", TABLE, "ann"),
        ("", "?", TABLE, "ann"),
        ("i2", "?", "I do not know.", "ben"),
        ("i1", "?", TABLE, "ann"),
    )
    drafts = human_tables(ITEMS, name_file("people", path))
    assert [(row.item, row.system, row.setting, row.failed) for row in drafts.rows] == [
        ("i1", "people", "oracle", "")
    ] * 2
    first = next(row for row in drafts.rows if row.reply == TABLE)
    assert first.table == (("entity", "capital"), ("Ruvay", "Port Ruvay"), ("Skarholm", "Skar"))
    assert {row.detail.partition(":")[0]: row.reason for row in drafts.dropped} == {
        "line 11": "unknown_item", "line 14": "no_id", "line 15": "no_table", "line 18": "written_twice",
    }  # fmt: skip
    scored = human_scores(ITEMS, list(drafts.rows)).rows
    assert [row.id for row in scored] == [row.id for row in drafts.rows]
    assert all(row.faults is None and row.released_precision for row in scored)


def test_a_file_without_a_table_is_bad_input(tmp_path: Path) -> None:
    path = write(tmp_path, ("id", "table"), ("i1", ""))
    with pytest.raises(BadInput, match="contains no table"):
        human_tables(ITEMS, name_file("people", path))
    assert human_tables(ITEMS, TableEvaluation(set="sample")).rows == []


def test_the_form_for_annotators_has_the_evidence(tmp_path: Path) -> None:
    proofs = (make_proof("Ruvay", "P36", "Port Ruvay", "=cmd is its capital."),)
    (line, _) = csv.DictReader(io.StringIO(make_table_form([make_item(proofs=proofs), make_item("i2")])))
    assert line["evidence"] == "[Ruvay / History] =cmd is its capital."
    assert (line["id"], line["table"]) == ("i1", "")


def test_words_on_hallucinations_are_matched(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        ("id", "label", "rater", "response"),
        ("p-i1", "yes", "ann", "'=SUM(1) Ruvay"),
        ("p-i1", "no", "ben", ""),
        ("p-i1", "maybe", "eve", ""),
        ("p-i1", "no", "eve", "another reply"),
        ("p-i2", "no", "ann", ""),
    )
    drafts = hallucination_labels(ITEMS, PREDICTIONS, name_file("labels", path))
    assert [(row.prediction, row.item, row.rater, row.label) for row in drafts.rows] == [
        ("p-i1", "i1", "ann", "yes"), ("p-i1", "i1", "ben", "no"),
    ]  # fmt: skip
    assert [row.reason for row in drafts.dropped] == ["no_label", "other_response", "unknown_prediction"]
    assert hallucination_labels(ITEMS, PREDICTIONS, TableEvaluation(set="sample")).rows == []


def test_the_form_shows_what_was_replied() -> None:
    (line,) = csv.DictReader(io.StringIO(make_label_form({item.id: item for item in ITEMS}, PREDICTIONS)))
    assert (line["id"], line["response"], line["label"]) == ("p-i1", "'=SUM(1) Ruvay", "")


@pytest.mark.parametrize("field", ["people", "labels"])
def test_files_lie_where_dvc_sees_them(field: str) -> None:
    with pytest.raises(ValidationError):
        TableEvaluation.model_validate({"set": "sample", field: "elsewhere/people.csv"})
