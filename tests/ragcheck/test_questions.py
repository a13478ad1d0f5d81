import json

import pytest

from tasks.errors import BadInput
from tasks.ragcheck.corpus import corpus
from tasks.ragcheck.question_sets import QuestionSet
from tasks.ragcheck.questions import questions, sample_evenly
from tests.ragcheck.scripted import make_question
from tests.sources.test_jsquad import ask
from tests.sources.test_jsquad import write as write_squad
from tests.sources.test_mtrag import make_task
from tests.sources.test_mtrag import write as write_tasks


def write_lines(path, name, *records):
    (path / name).write_text("\n".join(json.dumps(record) for record in records))


def test_as_many_questions_are_taken_of_each_dataset_by_the_seed():
    rows = [make_question(i, dataset="ab"[i > 6]) for i in range(1, 10)]
    taken = sample_evenly(rows, 5, 0)
    assert [row.dataset for row in taken] == ["a", "b", "a", "b", "a"]
    assert sample_evenly(rows[::-1], 5, 0) == taken
    assert sample_evenly(rows, 5, 1) != taken
    # b has only three questions; the rest are from a
    assert sum(row.dataset == "b" for row in sample_evenly(rows, 8, 0)) == 3
    assert len(sample_evenly(rows, None, 0)) == 9


def test_mtrag_is_narrowed_and_what_is_left_out_is_counted(tmp_path):
    first = make_task(task_id="c<::>1", input=[{"speaker": "user", "text": "First?"}])
    path = write_tasks(
        tmp_path / "reference.jsonl", first, make_task(),
        make_task(task_id="x", answerability=["UNANSWERABLE"]),
        make_task(task_id="y", targets=[{"text": " "}]),
    )  # fmt: skip
    drafts = questions(QuestionSet(kind="mtrag", path=path))
    assert [(row.key, len(row.history), row.dataset) for row in sorted(drafts.rows, key=lambda r: r.key)] == [
        ("c<::>1", 0, "govt"), ("c<::>2", 1, "govt"),
    ]  # fmt: skip
    assert sorted(row.reason for row in drafts.dropped) == ["no_reference", "other_answerability"]
    only = questions(QuestionSet(kind="mtrag", path=path, first_turn=True, take=1))
    assert [row.key for row in only.rows] == ["c<::>1"]
    assert [document.id for document in corpus(QuestionSet(kind="mtrag", path=path)).rows] == ["d1", "d2"]


def test_jsquad_is_read_with_its_paragraphs(tmp_path):
    entry = QuestionSet(kind="jsquad", path=write_squad(tmp_path / "v.json", ask()), language="ja")
    (row,) = questions(entry).rows
    assert (row.key, row.language, row.reference) == ("q0", "ja", "雨季")
    assert [document.title for document in corpus(entry).rows] == ["梅雨"]


def test_a_folder_of_lines_is_a_set_of_ones_own(tmp_path):
    japanese = {"id": "2", "question": "問い?", "reference": "答", "language": "ja", "dataset": "other"}
    write_lines(tmp_path, "questions.jsonl", {"id": "1", "question": "Q?", "reference": "A"}, japanese)
    write_lines(tmp_path, "documents.jsonl", {"id": "d", "text": "T"})
    entry = QuestionSet(kind="lines", path=tmp_path)
    rows = sorted(questions(entry).rows, key=lambda row: row.key)
    assert [(row.dataset, row.language, row.reference) for row in rows] == [
        ("all", "en", "A"),
        ("other", "ja", "答"),
    ]
    assert [(document.id, document.title) for document in corpus(entry).rows] == [("d", "")]


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([{"id": "1", "question": "Q?"}], "'reference'"),
        ([{"id": "1", "question": " ", "reference": "A"}], "'question'"),
        ([{"id": 1, "question": "Q?", "reference": "A"}], "'id'"),
        ([{"id": "1", "question": "Q?", "reference": "A"}] * 2, "line 2: the id '1' occurs twice"),
        ([[1]], "not a JSON object"),
        ([], "contains no question"),
    ],
)
def test_lines_that_are_no_questions_are_named(tmp_path, records, says):
    write_lines(tmp_path, "questions.jsonl", *records)
    with pytest.raises(BadInput, match=says):
        questions(QuestionSet(kind="lines", path=tmp_path))


def test_two_tasks_of_one_name_are_refused(tmp_path):
    path = write_tasks(tmp_path / "reference.jsonl", make_task(), make_task())
    with pytest.raises(BadInput, match="two questions with the same id"):
        questions(QuestionSet(kind="mtrag", path=path))
