import json
import os
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.sources.mtrag import list_sources, read_tasks

SHARED = Path(os.environ.get("BENCHLOOM_MTRAG", "no such folder"))
"""Real data on this machine, if present; they are not part of the project."""


def make_task(**more):
    record = {
        "conversation_id": "c", "task_id": "c<::>2", "turn": "2", "Collection": "govt",
        "answerability": ["ANSWERABLE"],
        "contexts": [
            {"document_id": "d1", "title": "T", "text": " A text. "}, {"document_id": "d2", "text": "B"},
        ],
        "input": [
            {"speaker": "user", "text": "First?"}, {"speaker": "agent", "text": "Yes."},
            {"speaker": "user", "text": "Second? "},
        ],
        "targets": [{"speaker": "agent", "text": "It is so."}],
    }  # fmt: skip
    return {**record, **more}


def write(path, *records):
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n\n", encoding="utf-8")
    return path


def test_a_task_is_its_last_question_with_what_came_before(tmp_path):
    write(tmp_path / "some_reference.jsonl", make_task())
    (tmp_path / "questions.jsonl").write_text("not read")
    (task,) = read_tasks(tmp_path)
    assert (task.id, task.collection, task.turn, task.answerability) == ("c<::>2", "govt", 2, "ANSWERABLE")
    assert (task.question, task.reference) == ("Second?", "It is so.")
    assert task.history == (("First?", "Yes."),)
    assert [(context.id, context.title, context.text) for context in task.contexts] == [
        ("d1", "T", "A text."),
        ("d2", "", "B"),
    ]


def test_passages_are_listed_once_and_two_texts_of_one_id_are_refused(tmp_path):
    path = write(tmp_path / "reference.jsonl", make_task(), make_task(task_id="c<::>3"))
    assert [source.id for source in list_sources(read_tasks(path))] == ["d1", "d2"]
    other = make_task(task_id="c<::>3", contexts=[{"document_id": "d1", "text": "Another"}])
    path = write(tmp_path / "reference.jsonl", make_task(), other)
    with pytest.raises(BadInput, match="d1 occurs with two different texts"):
        list_sources(read_tasks(path))


@pytest.mark.parametrize(
    "broken",
    [
        {"input": []}, {"input": "x"}, {"input": [{"speaker": "agent", "text": "x"}]}, {"targets": []},
        {"targets": [{"text": 3}]}, {"contexts": [{"text": "x"}]}, {"turn": "second"}, {"task_id": None},
        {"answerability": [7]}, {"contexts": None},
    ],
)  # fmt: skip
def test_a_record_that_is_no_task_is_named_by_file_and_line(tmp_path, broken):
    path = write(tmp_path / "reference.jsonl", make_task(), make_task(**broken))
    with pytest.raises(BadInput, match=r"reference\.jsonl, line 2: is not an MT-RAG task"):
        read_tasks(path)


def test_what_a_record_lacks_is_named(tmp_path):
    record = make_task()
    del record["input"]
    with pytest.raises(BadInput, match=r"line 1: is not an MT-RAG task: 'input' is missing"):
        read_tasks(write(tmp_path / "reference.jsonl", record))


@pytest.mark.parametrize("text", ["{", "[1]", "null", "\ud83d"])
def test_a_line_that_is_no_object_is_named(tmp_path, text):
    path = tmp_path / "reference.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(BadInput, match=r"reference\.jsonl"):
        read_tasks(path)


def test_a_folder_without_tasks_is_told(tmp_path):
    with pytest.raises(BadInput, match="contains no"):
        read_tasks(tmp_path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="BENCHLOOM_MTRAG names no copy of MT-RAG")
def test_the_published_file_is_read_whole():
    tasks = read_tasks(SHARED)
    assert len(tasks) == 507
    assert len(list_sources(tasks)) == 1152
    assert sum(not task.history for task in tasks) == 42
