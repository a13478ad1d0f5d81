import json
from dataclasses import dataclass

import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput
from tasks.scoring.label import Label, UnknownLabel, count_labels


class Mark(Label):
    RIGHT = "Correct", "right", 1.0
    WRONG = "Incorrect", "wrong", 0.0
    UNSURE = "Unsure"


@dataclass(frozen=True)
class Marked:
    id: str
    mark: Mark | None


@dataclass(frozen=True)
class Worded:
    id: str
    mark: str | None


def test_a_label_has_a_wire_word_a_shown_word_and_a_score():
    assert (Mark.RIGHT.value, Mark.RIGHT.shown, Mark.RIGHT.score) == ("Correct", "right", 1.0)
    assert (Mark.UNSURE.shown, Mark.UNSURE.score) == ("Unsure", None)
    assert json.dumps(Mark.WRONG) == '"Incorrect"'


def test_reading_an_unknown_word_raises_and_names_the_known_ones():
    with pytest.raises(UnknownLabel, match="'right' is not a Mark label: expected one of Correct, Incorrect"):
        Mark.read("right")


def test_a_label_without_a_score_is_counted_as_unscored():
    counts = count_labels([Mark.RIGHT, Mark.WRONG, Mark.RIGHT, Mark.UNSURE, None])
    assert (counts.scored, counts.unscored, counts.total) == (3, 2, 2.0)
    assert counts.mean == pytest.approx(2 / 3)
    assert count_labels([None]).mean is None


def test_labels_are_stored_as_their_wire_words_and_read_back(tmp_path):
    write_rows(tmp_path / "labels.parquet", Marked, [Marked("a", Mark.WRONG), Marked("b", None)])
    write_rows(tmp_path / "words.parquet", Worded, [Worded("a", "Incorrect"), Worded("b", None)])
    assert (tmp_path / "labels.parquet").read_bytes() == (tmp_path / "words.parquet").read_bytes()
    assert [row.mark for row in read_rows(tmp_path / "labels.parquet", Marked)] == [Mark.WRONG, None]


def test_an_unknown_word_in_an_artifact_names_artifact_row_and_word(tmp_path):
    write_rows(
        tmp_path / "judgements.parquet", Worded, [Worded("row-a", "Correct"), Worded("row-b", "Wrong")]
    )
    with pytest.raises(BadInput, match=r"judgements\.parquet: row 2 \(row-b\), mark: 'Wrong' is not a known"):
        read_rows(tmp_path / "judgements.parquet", Marked)
